"""A Ray cluster of several nodes on this machine, with real runs and a node that is killed.

The nodes share the CPUs, so Ray is busier here than its gate allows.
"""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deadheat.cli.endings import ExitCode
from deadheat.cluster import race, result
from deadheat.cluster.on_ray import ray_cluster
from deadheat.cluster.race import ClusterRace
from deadheat.cluster.result import combine, read_record, text
from deadheat.errors import DeadheatError
from deadheat.events import Board, Event, Progress
from tests.cluster.fake_cluster import planned
from tests.host.support import eventually
from tests.hosts.greeting import MANIFEST, MANY_SLICES, PROGRAM, race_protocol

pytestmark = pytest.mark.alone
ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'deadheat[cluster]'")

BOTH = {"server": 1, "load": 1}
MEMORY_BYTES = 80_000_000
PROTOCOL = race_protocol(
    "brief", 'kind = "settle", invocations = 2, budget_s = 5', slices=MANY_SLICES
)


@pytest.fixture(scope="module")
def nodes() -> Iterator[tuple[Any, list[Any]]]:
    """A head without a role, and two nodes that are a pair each."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": MEMORY_BYTES}
    cluster = None
    try:
        cluster = Cluster(initialize_head=True, head_node_args=head)
        workers = [add_pair(cluster), add_pair(cluster)]
    except Exception as error:  # Ray has no narrower one, and waits for 30 s at most
        if cluster is not None:
            cluster.shutdown()
        if "timed out during startup" not in str(error):
            raise
        pytest.skip(f"this machine is too busy to start Ray: {error}")
    yield cluster, workers
    ray.shutdown()
    cluster.shutdown()


def add_pair(cluster: Any) -> Any:
    return cluster.add_node(num_cpus=1, resources=BOTH, object_store_memory=MEMORY_BYTES)


@pytest.fixture
def catalog(tmp_path: Path) -> Path:
    folder = tmp_path / "catalog"
    for name in "abcd":
        server = folder / "servers" / name
        server.mkdir(parents=True)
        (server / "server.toml").write_text(MANIFEST.replace('"greeting"', f'"{name}"'))
        (server / "greeting.py").write_text(PROGRAM)
    for name in ("recipes", "protocols"):
        (folder / name).mkdir()
    (folder / "protocols" / "brief.toml").write_text(PROTOCOL)
    return folder


def running() -> list[int]:
    """The processes of runs that workers of Ray started."""
    pids = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"deadheat.cli.cluster" in words:
                pids.append(int(folder.name))
    return pids


def test_a_node_that_is_killed_returns_its_servers_and_ray_is_gated(
    nodes: tuple[Any, list[Any]], catalog: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, workers = nodes
    monkeypatch.setattr(result, "RAY_CPU_SHARE_MAX", 1.0)
    monkeypatch.setattr(race, "FAILURES_MAX", 100)
    monkeypatch.setattr(race, "ATTEMPTS_MAX", 2)
    folder = tmp_path / "result"
    killed = threading.Event()

    def listen(event: Progress | Event | Board) -> None:
        if isinstance(event, Progress) and event.what.startswith("2 runs") and not killed.is_set():
            killed.set()
            threading.Timer(3.0, cluster.remove_node, (workers[1], False)).start()

    with ray_cluster(cluster.address, None) as hosts:
        assert [pair.server == pair.load for pair in hosts.pairs] == [True, True]
        words = ("--catalog", str(catalog), "--protocol", "brief")
        plan = planned(
            servers=("a", "b", "c", "d"),
            shared=("a", "b"),
            words=words,
            together=1,
            pairs=hosts.pairs,
        )
        record = ClusterRace(plan, hosts, folder, listen).run()
    (lost,) = (pair for pair in record.pairs if pair.lost)
    assert "died" in str(lost.lost)
    (dead,) = (run for run in record.runs if run.bundle is None)
    assert dead.pair == lost.number
    again = [run for run in record.runs if run.servers == dead.servers and run is not dead]
    assert again
    assert again[0].attempt == 2
    for run in record.runs:  # their trials may be invalid: the nodes disturb each other
        if run is not dead:
            assert run.pair != lost.number
            assert run.exit_code in (ExitCode.OK, ExitCode.NO_ANSWER), run.error
            assert [*run.ray_cpu] == ["both"]
            assert 0 < run.ray_cpu["both"] < 1
    eventually(lambda: running() == [], within_s=15)  # the run on the killed node too
    shown = text(combine(folder, read_record(folder)))
    assert f"pair {lost.number} was lost" in shown
    assert "several pairs share a machine" in shown


def test_an_address_without_a_cluster_is_an_error() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with (
        pytest.raises(DeadheatError, match=f"--address {address}: no Ray cluster answers"),
        ray_cluster(address, None),
    ):
        pass
