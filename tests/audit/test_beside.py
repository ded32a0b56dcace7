"""A replay beside the published figures, and beside one whose client ran on another host."""

from typing import Any

import pytest

from deadheat.audit.beside import Case, between_replays
from deadheat.audit.placement import SAME_MACHINE, placement_of, placement_sections
from deadheat.audit.replay import Replay
from deadheat.audit.sections import heading
from deadheat.host.fake import FINGERPRINT
from deadheat.host.fingerprint import FarHost, LinkSpeed
from tests.audit.made import contender, figure, figures, protocol, replay, trial

PUBLISHED = figures(figure("A", 400), figure("B", 300), figure("C", 200), figure("D", None))


def test_pairs_each_row_with_its_contender() -> None:
    contenders = [contender("A", [100, 110, 120]), contender("C", [150, 160, 155])]
    (level,) = Case(replay(contenders), PUBLISHED).levels
    a, b, c, d = level.lines
    assert (a.row, a.then_per_s, a.now_per_s) == ("A", 400, 120)
    assert a.ratio == pytest.approx(0.3)
    assert a.low is not None
    assert a.high is not None
    assert a.low < 110 / 400 < a.high
    assert (a.rank_then, a.rank_now, a.moved) == (1, 2, -1)
    assert (c.rank_then, c.rank_now, c.moved) == (2, 1, 1)  # among the rows that have both
    assert (b.now_per_s, b.ratio, b.rank_then, b.why) == (None, None, None, "not in this run")
    assert (d.then_per_s, d.rank_then) == (None, None)
    assert [line.row for line in level.moved_most(9)] == ["A", "C"]


@pytest.mark.parametrize(("aggregate", "now"), [("best", 130), ("mean", 110), ("median", 100)])
def test_ranks_by_the_protocols_aggregate(aggregate: str, now: float) -> None:
    run = replay([contender("A", [100, 130, 100])], protocol=protocol(aggregate=aggregate))
    (level,) = Case(run, PUBLISHED).levels
    assert level.lines[0].now_per_s == pytest.approx(now)


def test_gives_the_reason_for_a_missing_figure() -> None:
    contenders = [
        contender("A", [], fault="it could not be built\nlog"),
        contender("B", [], trials=(trial(None),)),
    ]
    (level,) = Case(replay(contenders, missing={"C": "no server"}), PUBLISHED).levels
    reasons = {line.row: line.why for line in level.lines}
    assert reasons == {
        "A": "it could not be built",
        "B": "it died",
        "C": "no server",
        "D": reasons["D"],
    }
    assert level.agreement is None


def test_equal_rates_share_the_better_rank() -> None:
    contenders = [contender("A", [100]), contender("B", [200]), contender("C", [200])]
    (level,) = Case(replay(contenders), PUBLISHED).levels
    assert [line.rank_now for line in level.lines if line.rank_now] == [3, 1, 1]


def test_takes_the_faster_of_two_contenders_for_a_row() -> None:
    contenders = [contender("A", [100], name="slow"), contender("A", [200], name="fast")]
    (level,) = Case(replay(contenders), PUBLISHED).levels
    assert level.lines[0].contender == "fast"


def test_two_replays_are_compared_over_the_rows_they_share() -> None:
    first = replay([contender("A", [3]), contender("B", [2]), contender("C", [1])])
    second = replay([contender("A", [30]), contender("B", [10]), contender("E", [50])])
    (agreement,) = between_replays(first, second).values()
    assert agreement is not None
    assert (agreement.tau_b, agreement.rows) == (1, 2)


def test_bug_the_last_of_two_contenders_for_a_row_stood_for_the_second_replay() -> None:
    first = replay([contender("A", [300]), contender("B", [200])])
    second = replay([contender("A", [30]), contender("A", [1], name="slow"), contender("B", [20])])
    (agreement,) = between_replays(first, second).values()
    assert agreement is not None
    assert agreement.tau_b == 1


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
