"""Changes of contenders between two races, beside the others."""

import math

import numpy as np
import pytest

from deadheat.stats.model.contender_effects import EffectEstimate
from deadheat.stats.model.slice_model import fit_slices
from deadheat.stats.ranking.change import _variances, relative_changes
from tests.stats.races import binomial_limit
from tests.stats.slice_races import NOISY, Field, Machine, Schedule, race

LOG_RATES = (0.0, 0.1, 0.3, 0.6, 1.0)
EVERYONE = (np.arange(5), np.arange(5))


def raced(
    generator: np.random.Generator,
    *,
    instances: int = 4,
    gain: float = 0.0,
    machine: Machine = NOISY,
    faster: float = 0.0,
) -> EffectEstimate:
    """A race on a machine that is `faster`, whose contender 2 has gained."""
    log_rates = [rate + gain * (place == 2) for place, rate in enumerate(LOG_RATES)]
    slices = race(generator, Field.mixed(log_rates), Schedule(48, instances), machine)
    return fit_slices(slices.with_log_rates(slices.log_rate + faster)).estimate


def test_finds_the_contender_that_changed() -> None:
    generator = np.random.default_rng(1)
    changes = relative_changes(raced(generator), raced(generator, gain=0.15), EVERYONE, 0.01)
    assert [change.known for change in changes] == [False, False, True, False, False]
    assert changes[2].low < math.exp(0.15) < changes[2].high


def test_another_speed_of_the_machine_is_no_change() -> None:
    first = raced(np.random.default_rng(1))
    second = raced(np.random.default_rng(2))
    faster = raced(np.random.default_rng(2), faster=0.5)
    expected = relative_changes(first, second, EVERYONE, 0.01)
    for change, same in zip(relative_changes(first, faster, EVERYONE, 0.01), expected, strict=True):
        assert (change.ratio, change.low) == pytest.approx((same.ratio, same.low), rel=1e-6)


def test_equal_races_seldom_differ() -> None:
    generator = np.random.default_rng(3)
    pairs = 30
    false_alarms = 0
    for _ in range(pairs):
        changes = relative_changes(raced(generator), raced(generator), EVERYONE, 0.05 / 5)
        false_alarms += any(change.known for change in changes)
    assert false_alarms / pairs <= binomial_limit(0.05, pairs)


def test_the_variance_of_a_contrast_follows_from_the_pairs() -> None:
    root = np.random.default_rng(4).normal(size=(4, 4))
    covariance = root @ root.T
    own = np.diag(covariance)
    contrasts = np.array([[1, -1 / 3, -1 / 3, -1 / 3], [0.5, 0.5, -0.5, -0.5]])
    of_pairs = own[:, None] + own - 2 * covariance
    expected = np.diag(contrasts @ covariance @ contrasts.T)
    assert _variances(contrasts, of_pairs) == pytest.approx(expected)


def test_one_instance_has_no_interval() -> None:
    generator = np.random.default_rng(5)
    changes = relative_changes(raced(generator), raced(generator, instances=1), EVERYONE, 0.01)
    assert {(change.low, change.high) for change in changes} == {(0.0, math.inf)}


def test_one_contender_is_beside_no_other() -> None:
    estimate = raced(np.random.default_rng(6))
    with pytest.raises(ValueError, match="at least two contenders, not 1"):
        relative_changes(estimate, estimate, (np.array([0]), np.array([0])), 0.05)
