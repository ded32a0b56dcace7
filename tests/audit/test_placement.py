"""A replay whose client ran on another host, and what that changed."""

from typing import Any

import pytest

from deadheat.audit.placement import SAME_MACHINE, placement_of, placement_sections
from deadheat.audit.replay import Replay
from deadheat.audit.sections import heading
from deadheat.host.fake import FINGERPRINT
from deadheat.host.fingerprint import FarHost, LinkSpeed
from tests.audit.made import contender, protocol, replay

NETWORK = LinkSpeed(round_trip_us=60.0, bytes_per_s=1e9)


def on_one_host(run_id: str = "one", **rates: float) -> Replay:
    return _replay(run_id, {"server": FINGERPRINT, "load": FINGERPRINT}, rates)


def on_two_hosts(run_id: str = "two", same_machine: bool = False, **rates: float) -> Replay:
    link = FarHost(agent_round_trip_us=500.0, network=NETWORK, same_machine=same_machine)
    hosts = {"server": FINGERPRINT.model_copy(update={"link": link}), "load": FINGERPRINT}
    return _replay(run_id, hosts, rates, target="http://192.168.10.10:4000/")


def _replay(run_id: str, hosts: Any, rates: dict[str, float], **values: Any) -> Replay:
    contenders = [contender(row, [rate]) for row, rate in rates.items()]
    cpus = {"server": (0,), "load": (1,)}
    return replay(contenders, run_id=run_id, hosts=hosts, cpus=cpus, **values)


def text_of(first: Replay, second: Replay | None) -> str:
    placement = placement_of(first, second)
    assert placement is not None
    (section,) = placement_sections(placement)
    return "\n".join(section.lines)


def test_says_where_the_client_ran_and_what_it_loaded() -> None:
    text = text_of(on_two_hosts(A=100.0), None)
    assert "wrk ran on the load host against http://192.168.10.10:4000/, as published." in text
    assert "answers in 0.06 ms over the link, with 8,000 Mbit/s" in text
    assert "limited 0 of 1 trial" in text
    same = protocol(origin={"client_host": "same"})
    text = text_of(_replay("two", on_two_hosts().hosts, {"A": 1.0}, protocol=same), None)
    assert "while the published one ran on the server's host" in text


@pytest.mark.parametrize("two_hosts_first", [True, False])
def test_change_is_two_hosts_over_one_host_whichever_is_audited(two_hosts_first: bool) -> None:
    pair = on_two_hosts(A=150.0, B=300.0, C=10.0), on_one_host(A=100.0, B=50.0, D=1.0)
    placement = placement_of(*(pair if two_hosts_first else pair[::-1]))
    assert placement is not None
    (level,) = placement.levels
    changes = [(c.row, c.ratio, c.rank_one_host, c.rank_two_hosts) for c in level.changes]
    assert changes == [("B", 6.0, 2, 1), ("A", 1.5, 1, 2)]
    assert level.median_ratio == 3.75
    assert "Run two had its client on another host, run one on the server's host" in text_of(*pair)


def test_no_placement_if_all_ran_on_one_host() -> None:
    assert placement_of(on_one_host(A=1.0), on_one_host("again", A=1.0)) is None


def test_replays_of_the_same_placement_are_not_compared() -> None:
    placement = placement_of(on_two_hosts(A=1.0), on_two_hosts("again", A=1.0))
    assert placement is not None
    assert placement.one_host is None


def test_namespaces_of_one_machine_are_called_so() -> None:
    namespaces = on_two_hosts(same_machine=True, A=1.0)
    assert SAME_MACHINE in heading(namespaces)
    assert "The hosts share one machine" in text_of(namespaces, None)
    machines = on_two_hosts(A=1.0)
    assert SAME_MACHINE not in heading(machines)
    assert "share one machine" not in text_of(machines, None)
