"""What the report says about the link between two hosts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from deadheat import report
from deadheat.report.findings.link import link_lines
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView
from deadheat.store import Store
from tests.report.made import MadeRun

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
COUNTERS = {"RetransSegs": 3, "load_RetransSegs": 1, "ifInDiscards": 2, "load_ifOutDiscards": -4}


def view_of(
    folder: Path,
    interfaces: Mapping[str, Mapping[str, Any]],
    *results: tuple[int, Mapping[str, Any]],
) -> RunView:
    """A run with a trial in the given block for each result."""
    known = {role: {"interface": interface} for role, interface in interfaces.items()}
    return view_with(folder, known, *results)


def view_with(
    folder: Path,
    fingerprints: Mapping[str, Mapping[str, Any]],
    *results: tuple[int, Mapping[str, Any]],
) -> RunView:
    """As `view_of`, with what the fingerprint of each role has besides."""
    with Store(folder / "runs.sqlite") as store:
        run = MadeRun(store, fingerprints=fingerprints)
        run.contender("a")
        for block, result in results:
            run.trial("a", 100.0, block=block, result=result)
        return load_view(store, run.end(), whole=True)


def test_the_interfaces_of_both_hosts_are_described(tmp_path: Path) -> None:
    lines = "\n".join(link_lines(view_of(tmp_path, {"server": CARD, "load": VETH})))
    assert (
        "server host's interface: ixgbe, MTU 9,000 bytes, offloads gro tso, interrupts on CPU 0-1,4"
    ) in lines
    assert ("load host's interface: veth, MTU 1,500 bytes, no offloads, no interrupts") in lines


def test_losses_of_both_sides_are_summed_once_for_each_block(tmp_path: Path) -> None:
    """The trials of a block of slices share the readings of the machines."""
    sliced = {"block_network": COUNTERS, "retransmits": 2, "out_of_order": 1}
    view = view_of(
        tmp_path,
        {"server": CARD, "load": VETH},
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
        for line in link_lines(view_with(tmp_path, fingerprints, (1, result)))
        if "database" in line
    ]
    assert "the database ran on the server host, on the CPUs of the server" in line
    assert (added in line) if added else ("ms" not in line)
