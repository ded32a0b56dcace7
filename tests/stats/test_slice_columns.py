"""Slices column by column, and which of them count: settling, and the witness."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from deadheat.stats.distributions import Floats
from deadheat.stats.model import counted_slices
from deadheat.stats.model.counted_slices import count_slices, slices_of
from deadheat.stats.model.slice_model import fit_slices, instance_log_rates, witness_gaps
from deadheat.stats.model.slices import SliceArrays, SliceColumns, SliceRow, SliceTable
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.model_ranking import rank_from_model
from deadheat.stats.warmup.settling import settling
from tests.stats.warm_curves import clean_curves

NAMES = ("b", "a", "c")
ROUNDS = 48


def rows(climbing: bool = False) -> list[SliceRow]:
    """Three contenders with two instances each, in no order; the first one of `a` may climb."""
    order = random.Random(1)
    made = []
    for number in range(ROUNDS):
        for place, name in enumerate(NAMES):
            half = number // (ROUNDS // 2)
            mean = 400 if climbing and name == "a" and number < 8 else 1000
            rate_per_s = order.gauss(mean, 5)
            made.append(
                SliceRow(name, 10 * place + half, number // 4, number, number * 1.0, rate_per_s)
            )
    order.shuffle(made)
    return made


def columns(made: list[SliceRow]) -> SliceColumns:
    table = SliceTable()
    table.add(made[:40])
    table.add(made[40:])
    return table.columns


def as_rows(slices: SliceColumns) -> list[SliceRow]:
    parts = (slices.instance, slices.block, slices.round, slices.at_s, slices.rate_per_s)
    names = [slices.names[place] for place in slices.contender]
    return [SliceRow(*row) for row in zip(names, *(part.tolist() for part in parts), strict=True)]


def test_a_table_gives_back_what_was_added() -> None:
    made = rows()
    assert as_rows(columns(made)) == made


def test_slices_that_count_are_in_order_of_time_then_name() -> None:
    made = rows()
    counted = count_slices(columns(made))
    assert as_rows(counted.slices) == sorted(made, key=lambda row: (row.at_s, row.contender))
    assert counted.settlings == {}


def test_the_early_slices_of_an_instance_that_climbed_do_not_count() -> None:
    counted = count_slices(columns(rows(climbing=True)))
    finding = counted.settlings[10]
    assert counted.owners[10] == "a"
    assert finding.excluded >= 8
    first = min(row.round for row in as_rows(counted.slices) if row.instance == 10)
    assert first == finding.excluded


@pytest.mark.parametrize("rounds", [1, 7, ROUNDS])
def test_levels_are_the_same_from_rounds_in_parts(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = count_slices(columns(rows(climbing=True))).settlings
    monkeypatch.setattr(counted_slices, "_ROUNDS_AT_ONCE", rounds)
    parts = count_slices(columns(rows(climbing=True))).settlings
    assert {each: finding.excluded for each, finding in parts.items()} == {
        each: finding.excluded for each, finding in whole.items()
    }
    assert parts[10].change == pytest.approx(whole[10].change)


def test_contenders_that_left_a_slow_machine_do_not_make_the_others_climb() -> None:
    """Their means are those of the slow part, beside which it did not look slow."""
    order = random.Random(2)
    names = ("a", "b", "c", "d", "e", "f")
    made = [
        SliceRow(
            name, place, number // 4, number, 1.0 * number, order.gauss(850 if slow else 1000, 5)
        )
        for number in range(ROUNDS)
        for slow in [number < ROUNDS // 3]
        for place, name in enumerate(names if slow else names[:2])
    ]
    assert count_slices(columns(made)).settlings == {}


def one_of_two_is_slow(last_round: float = math.inf) -> SliceColumns:
    """Instances take turns from block to block; those of `d` differ, and the fast one may leave."""
    order = random.Random(3)
    table = SliceTable()
    table.add(
        SliceRow(
            name,
            10 * place + number // 4 % 2,
            number // 4,
            number,
            1.0 * number,
            order.gauss(1000, 5) * (1 if name != "d" else (1.3, 0.7)[number // 4 % 2]),
        )
        for number in range(ROUNDS)
        for place, name in enumerate((*NAMES, "d"))
        if name != "d" or number // 4 % 2 or number < last_round
    )
    return table.columns


def test_bug_a_fast_instance_that_left_made_the_others_climb() -> None:
    """Beside one level for all instances of a contender, the others seemed to change.

    Their early slices did not count, so nothing was left beside the fast instance: the interval
    of a ratio was that of the slow one alone, 1.21 to 1.23 where 1.12 was true.
    """
    stayed, left = one_of_two_is_slow(), one_of_two_is_slow(ROUNDS / 2)
    assert count_slices(left).settlings == {}
    names = ("a", "d")
    for columns_ in (stayed, left):
        ratio = rank_from_model(fit_slices(slices_of(count_slices(columns_), names)), names)
        assert ratio.pair("a", "d").ratio.low < 1 < ratio.pair("a", "d").ratio.high


def test_an_instance_that_nothing_ran_beside_gives_no_interval() -> None:
    """The other one alone does not show how much the starts of a contender differ."""
    whole = slices_of(count_slices(one_of_two_is_slow()), ("a", "d"))
    slow_blocks, of_d = whole.block % 2 == 1, whole.contender == 1
    instance = np.where(of_d, whole.instance, 100 + whole.block // 2 % 2)
    beside = replace(whole, instance=instance).taken(of_d | slow_blocks)
    assert fit_slices(beside).instances.tolist() == [2, 2]
    ranking = rank_from_model(fit_slices(beside), ("a", "d"))
    assert math.isinf(ranking.pair("a", "d").ratio.high)


def test_the_model_reads_the_slices_of_the_names_asked_for() -> None:
    slices = slices_of(count_slices(columns(rows())), ("c", "a"))
    assert slices.contenders == 2
    assert len(slices) == 2 * ROUNDS
    assert sorted(set(slices.instance.tolist())) == [0, 1, 2, 3]
    assert np.exp(slices.log_rate).mean() == pytest.approx(1000, rel=0.01)


def test_a_name_without_slices_changes_nothing() -> None:
    known = columns(rows(climbing=True))
    more = replace(known, names=("no slice", *known.names), contender=known.contender + 1)
    assert count_slices(more).settlings == count_slices(known).settlings
    assert more.present == {*NAMES}


def test_no_slices_are_counted_as_none() -> None:
    assert len(count_slices(SliceTable().columns).slices) == 0


def test_bug_windows_in_which_nothing_was_sent_were_forgotten() -> None:
    """A server that paused by the clock, when it was thawed, had the rate between its pauses."""
    made = [
        row._replace(rate_per_s=0.0, weight=0.0) if row.contender == "a" and row.round % 3 else row
        for row in rows()
    ]
    counted = count_slices(columns(made))
    assert counted.silent == {"a": pytest.approx(2 / 3)}
    assert len(counted.slices) == len(made) - 2 * ROUNDS // 3
    fit = fit_slices(slices_of(counted, ("a", "b", "c")))
    pairs = {frozenset((p.faster, p.slower)): p.ratio for p in rank_from_model(fit, "abc").pairs}
    paused, steady = pairs[frozenset("ab")], pairs[frozenset("bc")]
    assert paused.low < 1 / 3
    assert paused.high > 3
    assert steady.high < 1.1


SLICE_S = 0.09


def slices(*levels: tuple[int, float], sd: float = 0.05, seed: int = 1) -> Floats:
    generator = np.random.default_rng(seed)
    means = np.concatenate([np.full(count, rate) for count, rate in levels])
    return means * np.exp(sd * generator.standard_normal(len(means)))


@pytest.mark.parametrize("noise", [0.03, 0.10, 0.20])
@pytest.mark.parametrize("count", [16, 40, 120])
def test_steady_instance_keeps_its_slices(noise: float, count: int) -> None:
    outcomes = [settling(slices((count, 1000), sd=noise, seed=seed)) for seed in range(100)]
    assert np.mean([outcome.excluded == 0 for outcome in outcomes]) >= 0.95


@pytest.mark.parametrize("noise", [0.03, 0.10, 0.20])
@pytest.mark.parametrize("speed", [1.0, 0.4])
def test_finds_that_undertow_still_climbs(noise: float, speed: float) -> None:
    """It was called warm at 27,000 to 40,000 requests, and rose to twice the rate."""
    generator = np.random.default_rng(7)
    curves = clean_curves("java-undertow")["java-undertow"]
    bias = []
    for curve in curves:
        served = float(generator.uniform(27_000, 40_000))
        (run,) = curve.replay(
            generator, 80, noise=noise, speed=speed, served=served, window_s=SLICE_S
        )
        rates = np.diff(run) / SLICE_S
        outcome = settling(rates)
        assert outcome.change > 0.1
        assert outcome.excluded > 0
        if outcome.settled:
            bias.append(rates[outcome.excluded :].mean() / speed / curve.plateau - 1)
    assert abs(np.median(bias)) < 0.1


def test_excludes_what_came_before_a_step_up_or_down_and_little_more() -> None:
    outcome = settling(slices((20, 600), (60, 1000)))
    assert 20 <= outcome.excluded <= 34
    assert outcome.settled
    assert "climbed by" in outcome.reason
    outcome = settling(slices((20, 1000), (60, 700)))
    assert outcome.excluded >= 20
    assert outcome.change < -0.2
    assert "sank by" in outcome.reason


def test_instance_that_moves_in_its_second_half_has_not_settled() -> None:
    outcome = settling(slices((60, 600), (20, 1000)))
    assert not outcome.settled
    assert outcome.excluded == 40
    assert "still moves" in outcome.reason


def test_machine_that_slows_is_not_the_instance() -> None:
    machine = np.concatenate((np.ones(20), np.full(60, 0.5)))
    rates = slices((80, 1000)) * machine
    assert settling(rates).excluded > 0
    assert settling(rates, slices((80, 200), sd=0.02, seed=2) * machine).excluded == 0


def test_disturbed_slices_and_a_change_below_the_least_are_no_climb() -> None:
    rates = slices((80, 1000))
    rates[[2, 3, 9]] *= 0.3
    assert settling(rates).excluded == 0
    rates = slices((40, 1000), (120, 1020), sd=0.005)
    assert settling(rates).excluded == 0
    assert settling(rates, change_min=0.01).excluded > 0


def test_few_slices_show_nothing() -> None:
    outcome = settling(slices((5, 500), (10, 1000)))
    assert (outcome.excluded, outcome.settled) == (0, True)
    assert "too few" in outcome.reason


def test_slices_without_an_answer_are_not_tested() -> None:
    rates = slices((20, 600), (60, 1000))
    rates[::10] = 0
    assert settling(rates).excluded >= 20


def test_rejects_arrays_that_do_not_match() -> None:
    with pytest.raises(ValueError, match="one row each"):
        settling([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="below 0"):
        settling([-1.0])


CONTENDERS, INSTANCES = 6, 4
STEADY = np.zeros(CONTENDERS, dtype=bool)
OWNERS = np.repeat(np.arange(CONTENDERS), INSTANCES)


def noise(sd: float, seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.random.default_rng(seed).normal(0, sd, len(OWNERS))


def test_gaps_that_chance_explains_are_zero() -> None:
    flagged = 0
    for seed in range(100):
        gaps, _ = witness_gaps(np.zeros(len(OWNERS)), noise(0.05, seed), OWNERS, STEADY)
        flagged += bool(gaps.any())
    assert flagged <= 6, "1 % of the races are expected"


def test_finds_a_contender_whose_slices_hide_a_quarter_of_its_time() -> None:
    witness = noise(0.02, 1) - 0.2 * (OWNERS == 2) + 0.1
    gaps, _ = witness_gaps(np.zeros(len(OWNERS)), witness, OWNERS, STEADY)
    assert np.flatnonzero(gaps).tolist() == [2]
    assert math.isclose(gaps[2], -0.2, abs_tol=0.05), "what all share is the machine's"


def test_bug_pauses_in_the_discarded_parts_were_hidden_by_the_scatter_of_others() -> None:
    witness = noise(0.05, 3) - 0.08 * (OWNERS == 2)
    assert not witness_gaps(np.zeros(len(OWNERS)), witness, OWNERS, STEADY)[0].any()
    pauses = np.arange(CONTENDERS) == 2
    gaps, sure = witness_gaps(np.zeros(len(OWNERS)), witness, OWNERS, pauses)
    assert np.flatnonzero(gaps).tolist() == [2]
    assert not sure.any()


def test_chance_seldom_moves_the_rate_of_a_server_that_pauses() -> None:
    """At most 5 % of the races, and then its interval contains both rates."""
    pauses = np.arange(CONTENDERS) == 2
    moved = 0
    for seed in range(200):
        _, sure = witness_gaps(np.zeros(len(OWNERS)), noise(0.05, seed), OWNERS, pauses)
        moved += bool(sure[2])
    assert moved <= 18, "10 of 200 are expected"


def test_instances_without_a_witness_say_nothing() -> None:
    witness = np.full(len(OWNERS), np.nan)
    assert not witness_gaps(np.zeros(len(OWNERS)), witness, OWNERS, STEADY)[0].any()
    alone = witness_gaps(np.zeros(3), noise(1.0, 2)[:3], np.arange(3), STEADY[:3])
    assert not alone[0].any(), "one each"


def test_rate_of_an_instance_is_that_of_its_mean_cycle() -> None:
    rates, requests = np.array([100.0, 50.0, 80.0]), np.array([10.0, 10.0, 3.0])
    log_rates = instance_log_rates(np.log(rates), requests, np.array([0, 0, 2]), 3)
    assert math.isclose(math.exp(log_rates[0]), 20 / (10 / 100 + 10 / 50))
    assert math.isclose(math.exp(log_rates[2]), 80.0)
    assert np.isnan(log_rates[1])


def race(hidden: float) -> SliceArrays:
    """Three equal servers; without slices, the rate of the first one is lower by `hidden`."""
    contenders, instances, rounds = 3, 4, 60
    random = np.random.default_rng(5)
    number = np.arange(contenders * rounds)
    contender, round_ = number % contenders, number // contenders
    instance = contender * instances + round_ // 5 % instances
    return SliceArrays(
        log_rate=random.normal(9.0, 0.01, len(number)),
        contender=contender,
        instance=instance,
        block=round_ // 5,
        round=round_,
        time_s=np.asarray(number * 0.1, dtype=np.float64),
        contenders=contenders,
        witness=9.0
        - hidden * (contender == 0)
        + random.normal(0, 0.004, contenders * instances)[instance],
    )


def test_bug_a_server_that_paused_between_slices_was_equivalent_to_one_that_did_not() -> None:
    names = ["pauses", "steady", "other"]
    honest = rank_from_model(fit_slices(race(hidden=0.0)), names)
    assert honest.pair("pauses", "steady").verdict is Verdict.EQUIVALENT
    hiding = rank_from_model(fit_slices(race(hidden=0.22)), names)
    pair = hiding.pair("pauses", "steady")
    assert pair.verdict is Verdict.UNDECIDED
    slowdown = 0.2 if pair.faster == "steady" else -0.2
    assert pair.ratio.low < math.exp(slowdown) < pair.ratio.high
    assert hiding.pair("steady", "other").verdict is Verdict.EQUIVALENT


def test_what_pauses_does_not_count_for_the_machine() -> None:
    """Five of six pause: their median is not what the machine did meanwhile."""
    away = np.array([0.0, 0.02, 0.10, -0.17, -0.22, -0.2])
    witness = noise(0.01, 4) + 0.1 + away[OWNERS]
    gaps, sure = witness_gaps(np.zeros(len(OWNERS)), witness, OWNERS, np.arange(CONTENDERS) > 0)
    assert np.allclose(gaps, np.where(np.abs(away) > 0.03, away, 0.0), atol=0.03)
    assert np.flatnonzero(sure).tolist() == [2, 3, 4, 5]


def test_bug_a_rate_kept_time_with_pauses_by_the_clock() -> None:
    """One is due whenever the server is thawed, so slices lie behind it and are 22 % too fast."""
    names = ["pauses", "steady", "other"]
    paused = np.array([0.4, 0.0, 0.0])
    pair = rank_from_model(fit_slices(replace(race(0.22), paused=paused)), names).pair(*names[:2])
    assert pair.faster == "steady"
    assert math.isclose(pair.ratio.ratio, math.exp(0.22), rel_tol=0.02)
    assert pair.ratio.low < 1.0 < pair.ratio.high, "the interval contains the rates of slices, too"
