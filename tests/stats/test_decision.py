"""Verdicts on intervals, and the effort that an undecided pair needs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from deadheat.stats.distributions import t_critical
from deadheat.stats.ranking.alpha_spending import ErrorLevel
from deadheat.stats.ranking.change import Change, Outcome, asking_slower
from deadheat.stats.ranking.decision import (
    MOST_BLOCKS,
    Verdict,
    effort,
    effort_to_detect,
    judge,
    outlook_of,
)
from deadheat.stats.ranking.pairs import PairFits, detectable_ratio, fit_pairs
from deadheat.stats.ranking.ranks import rank
from deadheat.stats.ranking.ratio import Ratios
from tests.stats.races import Noise


@pytest.mark.parametrize(
    ("log_ratio", "half_width", "verdict"),
    [
        (0.0, 0.02, Verdict.EQUIVALENT),
        (0.015, 0.01, Verdict.EQUIVALENT),
        (-0.02, 0.02, Verdict.UNDECIDED),
        (0.025, 0.02, Verdict.SEPARATED),
        (-0.10, 0.02, Verdict.SEPARATED),
        (0.10, 0.20, Verdict.UNDECIDED),
        (0.10, math.nan, Verdict.UNDECIDED),
    ],
)
def test_verdict_follows_from_the_interval(
    log_ratio: float, half_width: float, verdict: Verdict
) -> None:
    separated = abs(log_ratio) > half_width
    log_ratios = np.array([log_ratio, -log_ratio])
    half_widths, separations = np.full(2, half_width), np.full(2, separated)
    found = judge(log_ratios, half_widths, separations, margin=0.03)
    assert found[0] is verdict
    assert found[1] is verdict


def ratios(log_ratio: float, slice_variance: float, start_variance: float) -> Ratios:
    """Two contenders with these estimates after 3 invocations of 8 blocks."""
    square = np.array([[np.nan, 1.0], [1.0, np.nan]])
    error = math.sqrt((start_variance + slice_variance / 8) / 3)
    fits = PairFits(
        log_ratio=np.array([[np.nan, log_ratio], [-log_ratio, np.nan]]),
        standard_error=error * square,
        degrees_of_freedom=20 * square,
        slice_variance=slice_variance * square,
        start_variance=start_variance * square,
        blocks=np.full((2, 2), 24),
        invocations=np.full((2, 2), 3),
        indirect=np.zeros((2, 2), dtype=bool),
    )
    return Ratios(fits, ErrorLevel())


def half_width_after(before: Ratios, blocks: float, invocations: float) -> float:
    fits = before.fits
    per_invocation = blocks / invocations
    variance = fits.start_variance[0, 1] + fits.slice_variance[0, 1] / per_invocation
    degrees = 20 * invocations / 3
    return float(t_critical(0.025, degrees)) * math.sqrt(variance / invocations)


def test_noisy_slices_need_more_blocks_in_place() -> None:
    before = ratios(0.02, slice_variance=0.005, start_variance=0.0)
    needed = effort(before, 0, 1, margin=0.03)
    assert needed is not None
    assert needed.extra_invocations == 0
    blocks = 24 + needed.extra_blocks
    assert half_width_after(before, blocks, 3) <= 0.02 < half_width_after(before, blocks - 1, 3)


def test_scattered_starts_need_new_invocations() -> None:
    before = ratios(0.0, slice_variance=0.0001, start_variance=0.001)
    needed = effort(before, 0, 1, margin=0.03)
    assert needed is not None
    assert needed.extra_invocations == math.ceil(needed.extra_blocks / 8) > 0
    blocks = 24 + needed.extra_blocks
    assert half_width_after(before, blocks, blocks / 8) <= math.log(1.03) * 1.0001
    assert half_width_after(before, blocks - 1, (blocks - 1) / 8) > math.log(1.03) * 0.9999


def test_few_starts_need_no_more_than_the_scatter_that_more_of_them_would_show() -> None:
    """Three starts give a t of 13; ten times as many give one of 2, not only a smaller error."""
    before = ratios(0.0, slice_variance=0.0, start_variance=0.001)
    few = replace(before, fits=replace(before.fits, degrees_of_freedom=np.full((2, 2), 1.0)))
    needed, needed_now = effort(few, 0, 1, margin=0.03), outlook_of(few, 0, 1)
    assert needed is not None
    assert needed_now is not None
    at_this_t = 24 * (needed_now.half_width_now / math.log(1.03)) ** 2
    assert needed.extra_blocks < at_this_t / 10


def test_an_interval_without_degrees_has_no_more_than_the_most_blocks() -> None:
    before = ratios(0.0, slice_variance=0.0, start_variance=9.0)
    few = replace(before, fits=replace(before.fits, degrees_of_freedom=np.full((2, 2), 0.3)))
    needed = effort(few, 0, 1, margin=0.001)
    assert needed is not None
    assert 0 < needed.extra_blocks <= MOST_BLOCKS


def verdict_of(ratios: Ratios) -> Verdict:
    """The verdict of the first two contenders."""
    verdicts = judge(ratios.fits.log_ratio, ratios.half_width, ratios.separated, margin=0.03)
    verdict: Verdict = verdicts[0, 1]
    return verdict


@pytest.mark.parametrize("disagreement", [0.0, 0.01])
def test_an_outlook_predicts_the_detectable_effect_of_a_longer_race(disagreement: float) -> None:
    """Regression: the effect of the present race left the disagreement out."""
    before = ratios(0.01, slice_variance=0.0, start_variance=0.001)
    fits = replace(before.fits, disagreement=np.full((2, 2), disagreement))
    before = replace(before, fits=fits)
    outlook = outlook_of(before, 0, 1)
    assert outlook is not None
    now = float(detectable_ratio(before.fits, before.alpha_left)[0, 1])
    assert math.expm1(outlook.detectable(0)) == pytest.approx(now, rel=1e-3)
    needed = effort_to_detect(outlook, 0.03)
    assert math.expm1(outlook.detectable(needed.extra_blocks)) <= 0.03
    assert math.expm1(outlook.detectable(needed.extra_blocks - 1)) > 0.03


def test_bug_more_time_seemed_to_decide_what_slices_disagree_on() -> None:
    """OPEN named a time, although no time narrows an interval below the disagreement."""
    before = ratios(0.02, slice_variance=0.005, start_variance=0.0)
    fits = replace(before.fits, disagreement=np.full((2, 2), 0.05))
    apart = replace(before, fits=fits)
    outlook = outlook_of(apart, 0, 1)
    assert outlook is not None
    assert outlook.half_width(0) == pytest.approx(apart.half_width[0, 1])
    assert outlook.half_width(MOST_BLOCKS) == pytest.approx(0.05, rel=0.01)
    assert outlook.detectable(MOST_BLOCKS) == pytest.approx(0.05, rel=0.01)
    needed = effort(apart, 0, 1, margin=0.03)
    assert needed is not None
    assert needed.extra_blocks == MOST_BLOCKS


def test_effort_decides_most_races() -> None:
    """Most races that are extended by the effort reach a verdict."""
    generator = np.random.default_rng(42)
    decided = 0
    undecided = 0
    while undecided < 30:
        short = Noise().rates(generator, [0.05, 0.0, 0.5, 1.0], blocks=4)
        before = Ratios(fit_pairs(short), ErrorLevel())
        if verdict_of(before) is not Verdict.UNDECIDED:
            continue
        needed = effort(before, 0, 1, margin=0.03)
        assert needed is not None
        blocks = 4 + math.ceil(needed.extra_blocks / 3)
        after = Ratios(
            fit_pairs(Noise().rates(generator, [0.05, 0, 0.5, 1.0], 3, blocks)), ErrorLevel()
        )
        decided += verdict_of(after) is not Verdict.UNDECIDED
        undecided += 1
    assert decided / undecided > 0.5


def test_no_interval_gives_no_effort() -> None:
    fits = fit_pairs(Noise().rates(np.random.default_rng(43), [0.0, 0.0], invocations=1))
    assert effort(Ratios(fits, ErrorLevel()), 0, 1, margin=0.03) is None


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (0.98, 1.05, Outcome.PASS),
        (1.01, 1.05, Outcome.PASS),
        (0.975, 0.99, Outcome.PASS),  # slower, and by less than the margin
        (0.90, 0.99, Outcome.FAIL),
        (0.90, 1.01, Outcome.INCONCLUSIVE),
        (0.0, math.inf, Outcome.INCONCLUSIVE),
    ],
)
def test_the_interval_decides_the_verdict(low: float, high: float, outcome: Outcome) -> None:
    assert Change(1.0, low, high).judge(margin=0.03) is outcome


def test_a_verdict_takes_as_long_as_it_takes_to_detect_the_margin() -> None:
    """Whatever the present difference is: one time for one question."""
    rates = Noise().rates(np.random.default_rng(1), [0.0, 0.0], invocations=3, blocks=4)
    needed = set()
    for change in (0.98, 1.0, 1.02):
        ranking = rank(rates * [1.0, change], ["base", "head"], margin=0.03)
        (pair,) = asking_slower(ranking, "base", 0.03).pairs
        assert pair.effort is not None
        needed.add(pair.effort.extra_blocks)
    assert len(needed) == 1
    assert needed.pop() > 0
