"""`deadheat explain`, with a server of the user's own."""

import json
from pathlib import Path

import pytest

from deadheat.campaign import explain
from deadheat.load.engine import find_engine
from tests.cli.conftest import Deadheat

ONCE = ("--repetitions", "1", "--invocations", "1")


def test_an_own_server_is_explained_and_every_format_shows_it(
    deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever tools are missing here, its CPU time, threads and packets are known."""
    monkeypatch.delenv("DEADHEAT_CATALOG")
    monkeypatch.setattr(explain, "WATCHED_S", 0.3)
    monkeypatch.setattr(explain, "TRACED_S", 0.3)
    monkeypatch.setattr(explain, "SAMPLED_S", 0.3)
    own = [find_engine(), "--bind", "127.0.0.1", "--null-server", "{port}"]
    store = ("--store", str(tmp_path / "runs.sqlite"))
    ended = deadheat("explain", *ONCE, *store, "--", *own)
    assert ended.ran, ended.err
    assert "What a request takes" in ended.out
    document = json.loads(deadheat("report", *store, "--format", "json").out)
    (server,) = document["explanation"]["servers"]
    assert server["per_request"]["user_us"] + server["per_request"]["system_us"] > 0
    assert server["per_request"]["packets_in"] >= 1
    assert server["counted"]["threads"]
    if server["counted"]["calls"] is None:
        assert "strace" in " ".join(server["counted"]["left_out"])
    else:
        assert 0.9 <= server["calls"]["writes"] <= 1.1


def test_explains_nothing_without_a_server(deadheat: Deadheat) -> None:
    ended = deadheat("explain")
    assert ended.code == 2
    assert "no server to explain" in ended.err
