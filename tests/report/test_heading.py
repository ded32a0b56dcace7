"""The lines above the tables, those of a link, and the method, which follows the run's protocol."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from deadheat import report
from deadheat.protocol import load_protocol, protocol_names
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.heading import heading, link_lines, method
from deadheat.report.model.view import RunView
from tests.report.made import QUICK, made_run

RESUMED = {"at": "2026-11-20T12:30:00+00:00", "trials": 4, "paused_s": 3600.0}
ROOT = Path(__file__).parents[2]
CARD = {
    "driver": "ixgbe",
    "mtu_bytes": 9000,
    "offloads": {"tso": True, "gro": True, "lro": False},
    "interrupt_cpus": [0, 1, 4],
    "interrupt_targets": [0, 1, 4],
}
VETH = {
    "driver": "veth",
    "mtu_bytes": 1500,
    "offloads": {"tso": False},
    "interrupt_cpus": [],
    "interrupt_targets": [],
}
INTERFACES = {"server": {"interface": CARD}, "load": {"interface": VETH}}
COUNTERS = {"RetransSegs": 3, "load_RetransSegs": 1, "ifInDiscards": 2, "load_ifOutDiscards": -4}


def heading_of(folder: Path, conclusion: dict[str, Any], **protocol: Any) -> str:
    """The heading of a run of three repetitions of two contenders."""
    run = made_run(folder / "runs.sqlite", protocol={**QUICK, **protocol})
    run.contender("a", label="Row A")
    run.contender("b", label="Row B")
    for block in (1, 2, 3):
        run.trial("a", 100.0, block=block)
        run.trial("b", 200.0, block=block)
    view = run.ended(**conclusion)
    return "\n".join(heading(view, analyze(view)))


def test_heading_of_a_replay_has_repetitions_and_restarts(tmp_path: Path) -> None:
    """Regression: the heading of a replay had blocks and fresh starts, and a replay has neither."""
    restarts = {"Row B": "repetition", "Row C": "level"}
    text = heading_of(tmp_path, {}, kind="alone", restarts=restarts)
    assert (
        "6 trials of 1 s, 3 repetitions of each, one contender after the other, "
        "one process for all; a process for each trial of Row B\n"
    ) in text
    assert "block" not in text


@pytest.mark.parametrize(
    ("conclusion", "text"),
    [
        ({}, "6 trials of 1 s in 3 blocks over 1 fresh start"),
        (
            {"resumed": [RESUMED]},
            "resumed 2026-11-20 12:30 UTC after 4 trials, with fresh processes",
        ),
        (
            {"resumed": [RESUMED | {"more_s": 420.0}]},
            "given 7 min more on 2026-11-20 12:30 UTC after 4 trials",
        ),
        # Regression: the time of the run, in which servers are built, stood beside the budget.
        ({"why": "budget spent", "race_s": 29.6}, "budget spent after 29.6 s"),
    ],
)
def test_heading_of_a_race(tmp_path: Path, conclusion: dict[str, Any], text: str) -> None:
    assert text in heading_of(tmp_path, conclusion)


@pytest.mark.parametrize("name", protocol_names(ROOT))
def test_every_shipped_protocol_has_a_method_of_its_schedule(tmp_path: Path, name: str) -> None:
    protocol = load_protocol(ROOT, name).model_dump(mode="json")
    run = made_run(tmp_path / "runs.sqlite", protocol=protocol)
    run.race({"a": 1000, "b": 900}, invocations=1)
    view = run.ended()
    text = " ".join(method(view, analyze(view)))
    assert ("frozen" in text) == (protocol["kind"] != "alone")
    assert ("ran one after the other" in text) == (protocol["kind"] == "alone")
    assert ("slice" in text) == (protocol["kind"] in ("slices", "rate"))
    assert ("recover" in text or "idle" in text) == bool(protocol.get("recovery"))


def view_of(
    folder: Path,
    fingerprints: Mapping[str, Mapping[str, Any]],
    *results: tuple[int, Mapping[str, Any]],
) -> RunView:
    """A run with a trial in the given block for each result."""
    run = made_run(folder / "runs.sqlite", fingerprints=fingerprints)
    run.contender("a")
    for block, result in results:
        run.trial("a", 100.0, block=block, result=result)
    return run.ended()


def test_the_interfaces_of_both_hosts_are_described(tmp_path: Path) -> None:
    lines = "\n".join(link_lines(view_of(tmp_path, INTERFACES)))
    assert (
        "server host's interface: ixgbe, MTU 9,000 bytes, offloads gro tso, interrupts on CPU 0-1,4"
    ) in lines
    assert ("load host's interface: veth, MTU 1,500 bytes, no offloads, no interrupts") in lines


def test_losses_of_both_sides_are_summed_once_for_each_block(tmp_path: Path) -> None:
    """The trials of a block of slices share the readings of the machines."""
    sliced = {"block_network": COUNTERS, "retransmits": 2, "out_of_order": 1}
    view = view_of(
        tmp_path,
        INTERFACES,
        *((1, sliced), (1, sliced), (2, sliced), (2, {"network": {"RetransSegs": 10}})),
    )
    assert (
        "during the trials: the server host sent 16 TCP segments again and dropped 4 packets; "
        "the load host sent 2 TCP segments again and dropped 0 packets; of the engine's "
        "connections, 6 segments sent again and 3 received out of order"
    ) in link_lines(view)
    losses = json.loads(report.write(view, "json"))["link_losses"]
    assert losses["server"] == {"segments_resent": 16, "packets_dropped": 4}
    assert losses["client_segments_out_of_order"] == 3


def test_a_run_on_one_machine_has_no_link(tmp_path: Path) -> None:
    view = view_of(tmp_path, {}, (1, {"block_network": COUNTERS}))
    assert link_lines(view) == []
    assert view.link_losses is None
    assert json.loads(report.write(view, "json"))["link_losses"] is None


@pytest.mark.parametrize(("far", "added"), [(("server",), "about 12.0 ms more"), (("load",), None)])
def test_the_place_of_the_database_is_stated(
    tmp_path: Path, far: tuple[str, ...], added: str | None
) -> None:
    """Its CPU time is read before and after each slice, which takes six requests to the agent."""
    result = {"database_cpu_us_per_request": 20.0}
    fingerprints = {role: {"link": {"agent_round_trip_us": 2000.0}} for role in far}
    (line,) = [
        line
        for line in link_lines(view_of(tmp_path, fingerprints, (1, result)))
        if "database" in line
    ]
    assert "the database ran on the server host, on the CPUs of the server" in line
    assert (added in line) if added else ("ms" not in line)
