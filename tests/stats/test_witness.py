"""The witness of each instance: its load without slices, beside its slices."""

import math
from dataclasses import replace

import numpy as np

from deadheat.stats.model.slice_model import fit_slices, instance_log_rates, witness_gaps
from deadheat.stats.model.slices import SliceArrays
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.model_ranking import rank_from_model

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
