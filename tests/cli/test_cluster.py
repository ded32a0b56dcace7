import json
import sys
from pathlib import Path

import pytest

from deadheat.cluster.result import ClusterHost, ClusterRecord, HostPair, write_record
from tests.cli.conftest import Deadheat


def test_without_ray_the_hint_names_the_extra(
    deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    ended = deadheat("cluster", "run", "hello")
    assert ended.code == 1
    assert "a cluster run needs Ray" in ended.err
    assert ended.hint == "install it: pip install 'deadheat[cluster]'"


def test_an_output_folder_with_files_is_refused(deadheat: Deadheat, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    ended = deadheat("cluster", "run", "hello", "-o", str(tmp_path / "full"))
    assert "full: it is not empty" in ended.err


def test_a_report_without_a_cluster_run_says_how_to_make_one(deadheat: Deadheat) -> None:
    ended = deadheat("cluster", "report")
    assert "has no cluster run" in ended.err
    assert "deadheat cluster run" in ended.hint


def test_the_report_shows_the_last_cluster_run(deadheat: Deadheat, home: Path) -> None:
    host = ClusterHost(name="lab\x1b[2J", address="192.168.10.2")
    for number, name in enumerate(("20261120-100000", "20261121-100000"), 1):
        folder = home / "clusters" / name
        folder.mkdir(parents=True)
        record = ClusterRecord(
            started_at=name,
            state="failed",
            deadheat_version="0.2.0",
            command=(),
            servers=("a",) * number,
            shared=("a",),
            together=6,
            margin=0.03,
            confidence=0.95,
            pairs=(HostPair(number=1, server=host, load=host, lost="it died\x1b[2J"),),
        )
        write_record(folder, record)
    ended = deadheat("cluster", "report")
    assert "2 servers on 1 pair of hosts, 0 runs; the cluster run is failed" in ended.out
    assert "\x1b" not in ended.out
    document = json.loads(deadheat("cluster", "report", "--json").out)
    assert document["servers"] == ["a", "a"]
    assert document["levels"] == []
