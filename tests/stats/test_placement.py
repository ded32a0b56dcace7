"""Placements of the CPUs, by core-to-core latency, and what they change in the model."""

from dataclasses import replace

import numpy as np
import pytest

from deadheat.stats.contender_effects import Estimate
from deadheat.stats.placement import placements
from deadheat.stats.slice_model import fit_slices
from deadheat.stats.slices import MIXED, Slices
from tests.stats import slice_races
from tests.stats.slice_races import Field, Schedule

NEAR_NS, FAR_NS = 25.0, 150.0


def test_slices_without_a_reading_are_in_one_placement() -> None:
    nothing = np.full(5, np.nan)
    placed = placements(nothing, nothing)
    assert placed.of_slice.tolist() == [0] * 5
    assert np.isnan(placed.latency_ns).tolist() == [True]


def test_the_placement_with_most_slices_comes_first() -> None:
    latency = np.where(np.arange(100) < 30, NEAR_NS, FAR_NS) * np.linspace(0.95, 1.05, 100)
    placed = placements(latency, latency)
    assert placed.of_slice.tolist() == [1] * 30 + [0] * 70
    assert placed.latency_ns == pytest.approx([FAR_NS, NEAR_NS], rel=0.05)
    assert placed.share == pytest.approx([0.7, 0.3])


def test_a_slice_during_which_the_cpus_moved_is_in_none() -> None:
    before, after = np.full(100, NEAR_NS), np.full(100, NEAR_NS)
    after[50] = before[51:] = after[51:] = FAR_NS
    assert placements(before, after).of_slice.tolist() == [0] * 50 + [MIXED] + [1] * 49


def test_a_few_disturbed_readings_are_no_placement() -> None:
    latency = np.full(200, NEAR_NS)
    latency[[3, 90]] = 400.0
    placed = placements(latency, latency)
    assert (np.flatnonzero(placed.of_slice == MIXED) == [3, 90]).all()
    assert len(placed.share) == 1


def moved_race(seed: int, responses: np.ndarray) -> Slices:
    """A race in which the CPUs move every 15 s, and each contender responds by its own factor."""
    generator = np.random.default_rng(seed)
    field = Field.copies(len(responses), instance_sd=0.01)
    slices = slice_races.race(generator, field, Schedule(120, 4), slice_races.QUIET)
    placement = (slices.time_s // 15 % 2).astype(np.int64)
    moved = slices.log_rate + responses[slices.contender] * placement
    placed = Slices(
        log_rate=moved,
        contender=slices.contender,
        instance=slices.instance,
        block=slices.block,
        round=slices.round,
        time_s=slices.time_s,
        contenders=slices.contenders,
        placement=placement,
    )
    return placed


def half_widths(estimate: Estimate) -> float:
    return float(np.median(np.sqrt(estimate.variance[np.triu_indices(6, 1)])))


def test_intervals_are_narrower_where_placements_are_known() -> None:
    responses = np.linspace(0, 0.3, 6)
    slices = moved_race(1, responses)
    unknown = Slices(
        **{
            name: getattr(slices, name)
            for name in ("log_rate", "contender", "instance", "block", "round", "time_s")
        },
        contenders=slices.contenders,
    )
    known, blind = fit_slices(slices).estimate, fit_slices(unknown).estimate
    assert half_widths(known) < 0.7 * half_widths(blind)
    centered = known.response - known.response.mean()
    assert centered == pytest.approx(responses - responses.mean(), abs=0.03)


def test_rates_are_those_at_the_mix_of_placements() -> None:
    """Copies but for their responses: the log ratio is the response times the share."""
    responses = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.3])
    slices = moved_race(2, responses)
    share = float((slices.placement == 1).mean())
    rates = fit_slices(slices).estimate.log_rate
    assert rates[5] - rates[:5].mean() == pytest.approx(0.3 * share, abs=0.03)


def test_a_contender_measured_in_one_placement_alone_has_a_wider_interval() -> None:
    slices = moved_race(3, np.zeros(6))
    left_early = (slices.contender != 0) | (slices.placement == 0)
    fit = fit_slices(slices.taken(left_early)).estimate
    others = fit.variance[np.ix_(range(1, 6), range(1, 6))][np.triu_indices(5, 1)]
    assert (fit.variance[0, 1:] > 2 * np.median(others)).all()


def test_a_contender_that_stopped_before_the_cpus_moved_keeps_its_interval() -> None:
    """Bug: rates were for the mix of the whole race, and that of one that had stopped a guess."""
    field, last_round = Field.copies(6, instance_sd=0.01), (40, 40, 120, 120, 120, 120)
    schedule = Schedule(120, 4, last_round)
    slices = slice_races.race(np.random.default_rng(4), field, schedule, slice_races.QUIET)
    moved = replace(slices, placement=(slices.round >= 40).astype(np.int64))
    before, after = fit_slices(slices).estimate, fit_slices(moved).estimate
    assert (after.variance[0, 1:] < 2 * before.variance[0, 1:]).all()
