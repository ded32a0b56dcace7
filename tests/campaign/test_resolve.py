"""What is stored is what runs: the protocol on these machines, and its limits."""

import json
from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.resolve import fit_to, resolve, too_few
from deadheat.errors import DeadheatError
from deadheat.host.fake import FINGERPRINT
from deadheat.host.fingerprint import Fingerprint
from deadheat.protocol import AloneProtocol
from tests.audit.made import protocol
from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import SETTLE, sliced

SYSCTL = {
    "net.core.somaxconn": "65535",
    "net.ipv4.tcp_max_syn_backlog": "65535",
    "net.ipv4.ip_local_port_range": "1024\t65535",
}


def machine(open_files: int = 65_536, sysctl: dict[str, str] | None = None) -> Fingerprint:
    limits = {"open_files_hard": open_files, "sysctl": SYSCTL | (sysctl or {})}
    return FINGERPRINT.model_copy(update=limits)


def landshark(**values: Any) -> AloneProtocol:
    return protocol(connections=[100, 20_000], generator="ab", aggregate="mean", **values)


def stored(fake: FakeWorld) -> dict[str, Any]:
    """The protocol that the store has."""
    (run,) = fake.rows("SELECT protocol FROM run")
    kept: dict[str, Any] = json.loads(run["protocol"])
    return kept


def test_bug_the_stored_protocol_discarded_60_ms_less_than_was_discarded(tmp_path: Path) -> None:
    """Where idle CPUs sleep, the run was stored with another protocol than the one that ran."""
    fake = FakeWorld(tmp_path, fast=3000, slow=1000)
    with fake.interrupted(lambda *_: len(fake.slices) == 20):
        run_id = fake.conduct(sliced(slices={"rounds": 4, "discard_s": 0.01}))
    fake.resume(run_id)  # where nothing is added once more
    discarded = {request["discard_s"] for _, request in fake.slices if not request["renew"]}
    assert discarded == {stored(fake)["slices"]["discard_s"]} == {0.07}


def test_the_stored_protocol_has_the_slices_of_a_short_budget(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, **{f"s{n}": 1000.0 + n for n in range(8)})
    rule = {"rounds": 4, "shortest_s": 0.02}
    fake.conduct(sliced(slices=rule, awake=True, stopping=SETTLE | {"budget_s": 20}))
    assert stored(fake)["duration_s"] < 0.1


def test_a_protocol_that_is_resolved_stays_as_it_is(tmp_path: Path) -> None:
    world = FakeWorld(tmp_path, fast=3000).world
    once = resolve(sliced(), world, 8).protocol
    assert once != sliced()
    assert resolve(once, world, 8).protocol == once


def test_sufficient_machine_has_no_remarks() -> None:
    fitted = fit_to(landshark(), machine(), machine(), 1)
    assert (fitted.protocol, fitted.remarks) == (landshark(), ())


def test_splits_connections_over_several_client_processes() -> None:
    """A process that may open 20,000 files cannot hold 20,000 connections."""
    fitted = fit_to(landshark(), machine(20_000), machine(20_000), 1)
    assert fitted.connections_each == 19_936
    assert fitted.protocol.connections == (100, 20_000)
    assert "20,000 connections come from 2 client processes" in fitted.remarks[0]
    assert "a server with one process may open 20,000 files" in fitted.remarks[1]


def test_leaves_out_impossible_level_with_the_reason() -> None:
    fitted = fit_to(landshark(), machine(1024), machine(), 1)
    assert fitted.protocol.connections == (100,)
    assert "20,000 connections are left out: a process may open 1,024 files" in fitted.remarks[0]
    assert "ulimit -n 65536" in fitted.remarks[0]
    assert fitted.protocol.deviations == ("without 20,000 connections",)
    few = machine(sysctl={"net.ipv4.ip_local_port_range": "50000 60000"})
    fitted = fit_to(landshark(), few, few, 1)
    assert "one address, which has 10,001 ports; to add ports: sudo sysctl" in fitted.remarks[0]


def test_rejects_a_protocol_without_a_possible_level() -> None:
    with pytest.raises(DeadheatError, match="no level of paper is possible here: 100 conn"):
        fit_to(landshark(), machine(70), machine(), 1)


def test_remarks_on_short_queues_and_shared_cpus() -> None:
    short = machine(sysctl={"net.core.somaxconn": "4096"})
    fitted = fit_to(landshark(threads=4), short, short, 1)
    assert "20,000 simultaneous connections exceed net.core.somaxconn" in (fitted.remarks[0])
    assert fitted.remarks[1] == "the load generator's 4 threads share 1 CPU"


def test_race_remarks_on_too_few_descriptors_of_servers() -> None:
    """Regression: under ulimit -n 256, servers failed at 1,000 connections without a remark."""
    (remark,) = too_few(sliced(connections=[100, 1000]), machine(256))
    assert remark.startswith("a server with one process may open 256 files here")
    assert remark.endswith("ulimit -n 65536")
    assert too_few(sliced(connections=[100]), machine(256)) == ()


def test_remarks_on_settings_that_differ_from_published() -> None:
    origin = {"sysctl": {"net.core.somaxconn": "4096", "net.x": "1"}, "open_files": 100_000}
    fitted = fit_to(protocol(origin=origin), machine(), machine(), 1)
    assert fitted.remarks == (
        "net.core.somaxconn is 65535, published 4096; to change it: "
        'sudo sysctl -w net.core.somaxconn="4096"',
        "net.x is unknown here, published 1",
        "a process may open 65,536 files, published 100,000; to raise the limit: ulimit -n 100000",
    )
