"""Each fault of a made board is found, and a clean board shows none."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from deadheat.boards.checks import counts, load
from deadheat.boards.model import LiveBoard, Measurement, Table
from deadheat.boards.readings import BoardFinding
from tests.boards.made import CONNECTIONS, CPUS, DURATION_S, Made, only, spread_rates

Check = Callable[[Table], BoardFinding | None]
CHECKS: tuple[Check, ...] = (
    *(load.little, load.plateau, load.idle_cpus, load.too_many_cpus),
    *(counts.failures, counts.unended, counts.equal_percentiles, counts.falling_percentiles),
    counts.unreadable,
)
FEW = ("entry-03", "entry-07")
BOARDS = 60


def found(check: Check, board: LiveBoard) -> BoardFinding:
    finding = check(board.tables[0])
    assert finding is not None
    return finding


def clean_boards() -> Iterator[LiveBoard]:
    """Small and large ones, and every third with heavy tails."""
    for seed in range(BOARDS):
        entries = (20, 60, 300)[seed % 3]
        rates = spread_rates(entries, seed=seed)
        yield Made(rates, editions=1, heavy=seed % 9 == 0, seed=seed).board()


def test_at_most_one_clean_board_in_twenty_shows_any_sign() -> None:
    """All checks together."""
    with_sign = [
        board for board in clean_boards() if any(found(check, board).fires for check in CHECKS)
    ]
    assert len(with_sign) <= 0.05 * BOARDS


FAULTS: tuple[tuple[Check, dict[str, object]], ...] = (
    (load.little, {"mean_s": lambda row: 1.5 * row.mean_s}),
    (load.little, {"mean_s": lambda row: row.mean_s / 3}),
    (load.idle_cpus, {"cpus_used": 4.0}),
    (load.too_many_cpus, {"cpus_used": 1.2 * CPUS}),
    (counts.failures, {"failed": lambda row: row.ok // 50}),
    (counts.failures, {"errors": lambda row: row.ok // 50}),
    (counts.failures, {"requests": lambda row: row.ok + row.ok // 50}),
    (counts.unended, {"ok": lambda row: row.ok // 2}),
    (counts.equal_percentiles, {"p99_s": lambda row: row.mean_s}),
    (counts.falling_percentiles, {"p90_s": lambda row: row.p50_s / 2}),
    (counts.unreadable, {"unreadable": ("latency_mean '1st'",), "mean_s": None}),
)


@pytest.mark.parametrize(("check", "fault"), FAULTS)
def test_one_check_finds_the_rows_with_a_fault(check: Check, fault: dict[str, object]) -> None:
    board = Made(spread_rates(), editions=1).board(only(FEW, **fault))
    finding = found(check, board)
    assert finding.fires
    assert {row["entry"] for row in finding.rows} == {*FEW}
    assert finding.found == len(FEW)
    others = [other for other in CHECKS if other is not check]
    also = {other.__name__ for other in others if found(other, board).fires}
    # Latencies that cannot be right break Little's law and the order of percentiles alike.
    assert also <= {"little", "falling_percentiles"}


def test_says_which_of_rate_and_latency_cannot_be() -> None:
    made = Made(spread_rates())
    over = found(load.little, made.board(only(FEW, mean_s=lambda row: 2 * row.mean_s)))
    under = found(load.little, made.board(only(FEW, mean_s=lambda row: row.mean_s / 2)))
    assert (over.values["more_than_connections"], over.values["fewer_than_connections"]) == (2, 0)
    assert (under.values["more_than_connections"], under.values["fewer_than_connections"]) == (0, 2)
    assert over.rows[0]["cannot_be"] == "rate or latency is wrong"


def test_finds_that_a_whole_profile_has_fewer_connections_than_its_name_says() -> None:
    """As HttpArena's profile of 16,384 connections, which holds about 960 requests."""
    board = Made(spread_rates()).board(lambda row: replace(row, connections=17 * CONNECTIONS))
    finding = found(load.little, board)
    assert finding.fires
    assert finding.found == 0
    assert finding.number("under_way") == pytest.approx(CONNECTIONS, rel=0.01)


def test_several_requests_on_each_connection_are_no_fault() -> None:
    board = Made(spread_rates()).board(lambda row: replace(row, mean_s=100 * (row.mean_s or 0)))
    finding = found(load.little, board)
    assert not finding.fires
    assert finding.number("each") == pytest.approx(100, rel=0.01)


def test_the_median_latency_may_be_far_below_the_mean_but_not_above_twice_the_mean() -> None:
    def slow(row: Measurement) -> Measurement:
        factor = 2.2 if row.entry in FEW else 0.7
        return replace(row, mean_s=None, p50_s=factor * CONNECTIONS / row.rate_per_s)

    finding = found(load.little, Made(spread_rates()).board(slow))
    assert {row["entry"] for row in finding.rows} == {*FEW}


def test_finds_a_plateau_and_where_it_is() -> None:
    rates = [50_000 * factor for factor in np.linspace(1, 1.01, 12)] + spread_rates(100)
    finding = found(load.plateau, Made(rates, noise=1e-4).board())
    assert finding.fires
    assert finding.found >= 12
    assert finding.number("low_per_s") >= 49_900
    assert finding.number("high_per_s") <= 50_800
    picture = load.rates_of(Made(rates).board().tables[0], finding)
    assert sum(picture.counts) == len(rates)
    assert picture.crowd_low == finding.values["low_per_s"]


def test_a_duration_other_than_the_stated_one_is_a_factor_of_the_profile() -> None:
    def longer(row: Measurement) -> Measurement:
        return replace(row, ok=round(2 * row.rate_per_s * DURATION_S))

    finding = found(counts.unended, Made(spread_rates()).board(longer))
    assert finding.fires
    assert (finding.found, finding.values["off"]) == (0, 2.0)


def test_says_nothing_of_what_the_files_do_not_have() -> None:
    def bare(row: Measurement) -> Measurement:
        return Measurement(row.profile, row.family, row.entry, row.edition, row.rate_per_s)

    board = Made(spread_rates()).board(bare)
    silent = [check for check in CHECKS if check(board.tables[0]) is None]
    assert {*CHECKS} - {*silent} == {load.plateau, counts.unreadable}
