"""A board's noise, what survives it, editions, the composite score, and our own run beside it."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deadheat.boards.audit import audit_boards
from deadheat.boards.checks import order
from deadheat.boards.checks.beside import OwnRun, beside, read_names
from deadheat.boards.checks.composite import composite, reversed_pairs, scores_of
from deadheat.boards.checks.repeats import Noise, noises_of, repeats_of
from deadheat.boards.model import LiveBoard, Measurement, in_order
from deadheat.boards.readings import BoardFinding
from deadheat.errors import DeadheatError
from deadheat.stats.ranking.ranks import rank
from tests.boards.made import CPUS, Made, only, spread_rates

PROFILE = "256 connections"


def noise_of(board: LiveBoard) -> Noise:
    return noises_of(repeats_of(board))[PROFILE]


def the(board: LiveBoard, code: str) -> BoardFinding:
    """The last finding of a board's check."""
    return audit_boards([board]).of(board.name, code)[-1]


def test_finds_the_noise_with_which_a_board_was_made() -> None:
    noise = noise_of(Made(spread_rates(400), noise=0.03, editions=3).board())
    assert noise.source == "this profile"
    assert noise.needed == pytest.approx(1.96 * math.sqrt(2) * 0.03, rel=0.1)
    low, high = noise.interval()
    assert low < noise.needed < high


@pytest.mark.parametrize(("entries", "editions", "boards"), [(60, 4, 20), (22, 2, 60)])
def test_noise_alone_separates_at_most_one_pair_in_twenty(
    entries: int, editions: int, boards: int
) -> None:
    """Copies of one entry, with many and with few repeats: each separated pair is a false sign."""
    shares = []
    for seed in range(boards):
        board = Made([20_000.0] * entries, editions=editions, seed=seed).board()
        logs = np.log([row.rate_per_s for row in board.tables[0].rows])
        apart = np.abs(np.subtract.outer(logs, logs))[np.triu_indices(entries, 1)]
        shares.append((apart > noise_of(board).needed).mean())
    assert np.mean(shares) <= 0.05 + 0.01


def test_heavy_tails_count_in_the_difference_that_is_needed() -> None:
    light, heavy = (Made(spread_rates(400), heavy=tails).board() for tails in (False, True))
    assert noise_of(heavy).needed > 1.5 * noise_of(light).needed
    assert the(heavy, "repeats").values["heavy"] == "yes"
    assert the(light, "repeats").values["heavy"] == "no"


def test_figures_that_are_carried_over_are_no_repeats() -> None:
    first = Made(spread_rates(), editions=1).rows()
    again = [replace(row, edition="2026-01-02") for row in first]
    again[0] = replace(again[0], rate_per_s=1.2 * again[0].rate_per_s)
    board = LiveBoard("made", (), ("2026-01-01", "2026-01-02"), (*first, *again))
    assert len(repeats_of(board)[PROFILE]) == 1
    assert the(board, "editions").values["carried"] == len(first) - 1


@pytest.mark.parametrize(
    "other",
    [
        {"source": lambda row: row.edition},
        {"cpus_used": lambda row: (1.5 if row.edition == "2026-01-01" else 1) * CPUS},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_measurement_with_another_source_or_cpus_is_no_repeat(other: dict[str, object]) -> None:
    board = Made(spread_rates()).board(only(["entry-05"], **other))
    entries = {repeat.entry for repeat in repeats_of(board)[PROFILE]}
    assert len(entries) == 59
    assert "entry-05" not in entries


def test_what_all_entries_changed_is_not_noise() -> None:
    def faster(row: Measurement) -> Measurement:
        return replace(row, rate_per_s=row.rate_per_s * (1.3 if row.edition > "2026-01-01" else 1))

    assert noise_of(Made(spread_rates()).board(faster)).needed < 0.15


def test_a_profile_with_few_repeats_takes_the_noise_of_the_board() -> None:
    board = joined(Made(spread_rates(100)), Made(spread_rates(12), profile="other", seed=2))
    noises = noises_of(repeats_of(board))
    assert (noises[PROFILE].source, noises["other"].source) == ("this profile", "all profiles")


def joined(*parts: Made) -> LiveBoard:
    rows = [row for part in parts for row in part.rows()]
    return LiveBoard("made", (), in_order(row.edition for row in rows), tuple(rows))


def test_bug_a_quiet_profile_took_the_noise_of_noisier_ones() -> None:
    """HttpArena's baseline-512 needed 27 %, which none of its 36 repeats passes."""
    quiet = Made(spread_rates(30), profile="quiet-64")
    board = joined(quiet, Made(spread_rates(100), profile="loud-64", noise=0.2))
    noise = noises_of(repeats_of(board))["quiet-64"]
    assert noise.source == "this profile"
    assert noise.needed < 0.12


def test_few_repeats_are_joined_with_those_of_the_same_test() -> None:
    parts = [Made(spread_rates(12), profile=f"few-{load}", seed=load) for load in (64, 256)]
    board = joined(*parts, Made(spread_rates(100), profile="loud-64", noise=0.2))
    noise = noises_of(repeats_of(board))["few-64"]
    assert (noise.source, len(noise.repeats)) == ("this test", 24)


def test_a_test_that_is_noisier_than_all_others_takes_its_largest_change() -> None:
    loud = Made(spread_rates(9), profile="loud-64", noise=0.3)
    board = joined(loud, Made(spread_rates(100), profile="quiet-64"))
    noise = noises_of(repeats_of(board))["loud-64"]
    assert noise.source == "this test, its largest"
    assert noise.needed == pytest.approx(max(map(abs, noise.changes)))


def test_noise_alone_changes_at_most_one_entry_in_twenty_beyond_itself() -> None:
    boards = [Made(spread_rates(seed=seed), seed=seed).board() for seed in range(20)]
    findings = [the(board, "editions") for board in boards]
    beyond = sum(finding.found for finding in findings)
    assert beyond <= 0.06 * sum(finding.judged for finding in findings)


def test_nothing_survives_on_a_board_of_copies_and_all_of_a_clear_order() -> None:
    copies = the(Made([20_000.0] * 60).board(), "survives")
    clear = the(Made([10_000 * 1.5**place for place in range(60)]).board(), "survives")
    assert copies.number("separated") <= 2
    assert copies.number("median_places") > 50
    assert clear.values["separated"] == 59
    assert (clear.values["with_first"], clear.values["most_places"]) == (1, 1)


def test_places_contain_the_published_one() -> None:
    board = Made(spread_rates()).board()
    placed = order.places(board.tables[0], noise_of(board).needed)
    assert all(entry.first <= place <= entry.last for place, entry in enumerate(placed, 1))


def test_editions_show_what_moved_and_whether_its_source_changed() -> None:
    def moved(row: Measurement) -> Measurement:
        if row.edition == "2026-01-01" or row.entry not in ("entry-50", "entry-55"):
            return row
        source = "another" if row.entry == "entry-50" else row.source
        return replace(row, rate_per_s=8 * row.rate_per_s, source=source)

    finding = the(Made(spread_rates()).board(moved), "editions")
    assert 2 <= finding.found <= 2 + 60 // 10  # noise alone passes once in twenty times
    assert finding.values["beyond_unchanged"] == finding.found - 1
    sources = {row["entry"]: row["source"] for row in finding.rows[:2]}
    assert sources == {"entry-50": "changed or unknown", "entry-55": "unchanged"}
    assert finding.number("tau_low") < finding.number("tau_b") <= finding.number("tau_high")


def test_bug_editions_were_in_the_order_of_the_text_of_their_dates() -> None:
    """The tenth of March came before the sixth."""
    assert in_order(["2026-03-10T20:01", "2026-03-06T15:06"])[0] == "2026-03-06T15:06"


def score_board() -> LiveBoard:
    rows = [
        row
        for seed, profile in enumerate(("a-64", "a-256", "b-64", "c-64"))
        for row in Made(
            spread_rates(30, seed=seed + 40), profile=profile, name="httparena", seed=seed
        ).rows()
    ]
    generator = np.random.default_rng(3)
    names = {
        profile: generator.permutation(30) for profile in dict.fromkeys(r.profile for r in rows)
    }
    mixed = [
        replace(row, entry=f"entry-{names[row.profile][int(row.entry[-2:])]:02}") for row in rows
    ]
    return LiveBoard("httparena", (), in_order(row.edition for row in rows), tuple(mixed), CPUS)


def test_a_composite_score_changes_with_what_is_left_out() -> None:
    board = score_board()
    finding = composite(board, noises_of(repeats_of(board)))
    assert finding is not None
    assert finding.number("most_moved") > 0
    assert finding.number("least_tau_b") < 1
    assert all(row["first"] <= row["last"] for row in finding.rows)  # type: ignore[operator]


def test_filtering_out_the_best_of_a_test_turns_others_around() -> None:
    rates = np.array([[100.0, 10.0], [50.0, 90.0], [55.0, 84.0], [1.0, 400.0]])
    scores = scores_of(rates, ["a", "b"])
    assert scores[1] < scores[2]
    assert reversed_pairs(rates, ["a", "b"], scores, 3) >= 1
    assert reversed_pairs(rates[:3], ["a", "b"], scores_of(rates[:3], ["a", "b"]), 1) == 0


def own_run(rates: dict[str, float]) -> OwnRun:
    generator = np.random.default_rng(5)
    table = np.array([*rates.values()]) * np.exp(generator.normal(0, 0.01, (3, 4, len(rates))))
    return OwnRun("20260101-000000-abcd", 100, rates, rank(table, [*rates]))


def test_an_order_opposite_to_ours_is_found_where_it_is_beyond_the_noise() -> None:
    board = Made(spread_rates()).board()
    rows = {row.entry: row.rate_per_s for row in board.tables[0].rows}
    names = {("made", f"entry-{place:02}"): f"server-{place}" for place in (0, 20, 40)}
    same = {f"server-{place}": rows[f"entry-{place:02}"] for place in (0, 20, 40)}
    agreeing = beside(board.tables[0], own_run(same), names, noise_of(board))
    assert agreeing is not None
    assert (agreeing.fires, agreeing.values["tau_b"]) == (False, 1.0)
    assert all(0.8 < float(row["over"] or 0) < 1.2 for row in agreeing.rows)
    swapped = {**same, "server-0": same["server-40"], "server-40": same["server-0"]}
    opposite = beside(board.tables[0], own_run(swapped), names, noise_of(board))
    assert opposite is not None
    assert opposite.fires
    assert opposite.found == 3
    assert beside(board.tables[0], own_run(same), {}, None) is None


def test_noise_alone_turns_at_most_one_pair_in_twenty_around_beside_our_run() -> None:
    """Copies of one entry beside servers that our run separates: each sign is a false one."""
    names = {("made", f"entry-{place:02}"): f"server-{place}" for place in range(20)}
    ours = own_run({f"server-{place}": 1000 * 1.2**place for place in range(20)})
    boards = [Made([20_000.0] * 60, seed=seed).board() for seed in range(10)]
    besides = [beside(board.tables[0], ours, names, noise_of(board)) for board in boards]
    findings = [each for each in besides if each is not None]
    assert sum(each.number("opposite") for each in findings) > 0
    assert sum(each.found for each in findings) <= 0.05 * sum(each.judged for each in findings)


def test_the_map_of_names_that_comes_with_deadheat_names_servers_of_the_catalog() -> None:
    from tests.servers.contenders import CATALOG

    shipped = CATALOG.parents[2] / "servers"
    names = read_names()
    assert {board for board, _ in names} == {"httparena", "the-benchmarker", "techempower"}
    assert [server for server in names.values() if not (shipped / server).is_dir()] == []


def test_a_map_of_names_with_other_columns_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("entry,server\n")
    with pytest.raises(DeadheatError, match=r"names\.csv:1: expected the columns"):
        read_names(path)
