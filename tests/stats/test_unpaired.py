"""Changes between runs, compared with scipy; and changes beside the others."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from deadheat.stats.model.contender_effects import EffectEstimate
from deadheat.stats.model.slice_model import fit_slices
from deadheat.stats.ranking.change import (
    _variances,
    change,
    difference,
    learned_difference,
    learned_means,
    relative_changes,
)
from tests.stats.races import binomial_limit
from tests.stats.slice_races import NOISY, Field, Machine, Schedule, race


def test_change_is_welchs_interval_of_invocation_means() -> None:
    generator = np.random.default_rng(3)
    first = np.exp(generator.normal(9, 0.05, (4, 6)))
    second = np.exp(generator.normal(9.1, 0.1, (3, 5)))
    welch = stats.ttest_ind(
        np.log(second).mean(axis=1), np.log(first).mean(axis=1), equal_var=False
    ).confidence_interval(0.95)
    result = change(first, second, 0.05)
    assert (result.low, result.high) == pytest.approx((math.exp(welch.low), math.exp(welch.high)))


def test_interval_covers_no_change_at_the_nominal_rate() -> None:
    generator = np.random.default_rng(5)
    false_alarms = 0
    for _ in range(600):
        starts = generator.normal(0, 0.03, (2, 4, 1))
        rates = np.exp(9 + starts + generator.normal(0, 0.05, (2, 4, 3)))
        false_alarms += change(rates[0], rates[1], 0.05).known
    assert false_alarms / 600 < 0.075


def test_a_difference_of_means_is_welchs_interval() -> None:
    generator = np.random.default_rng(4)
    first, second = generator.normal(20, 1, 4), generator.normal(25, 3, 3)
    welch = stats.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
    result = difference(first, second, 0.05)
    assert result.value == pytest.approx(second.mean() - first.mean())
    assert (result.low, result.high) == pytest.approx((welch.low, welch.high))
    assert (difference([1.0], [3.0, 4.0], 0.05).low, result.known) == (-math.inf, result.low > 0)


@pytest.mark.parametrize("starts", [2, 3])
def test_differences_of_several_servers_hold_jointly_and_learn_from_each_other(starts: int) -> None:
    """Eight servers, whose starts scatter by 1 to 5 %, and a difference of 20 %."""
    generator = np.random.default_rng(6)
    servers, races = 8, 300
    wrong, widths, welch_widths = 0, [], []
    for _ in range(races):
        spread = np.exp(generator.uniform(math.log(0.01), math.log(0.05), (servers, 1, 1)))
        noise = np.exp(spread * generator.standard_normal((servers, 2, starts)))
        samples = {k: (10 * own[0], 12 * own[1]) for k, own in enumerate(noise)}
        means = learned_means({(k, at): own[at] for k, own in samples.items() for at in (0, 1)})
        apart = [learned_difference(means[k, 0], means[k, 1], 0.05 / servers) for k in samples]
        wrong += any(not each.low < 2 < each.high for each in apart)
        widths += [each.high - each.low for each in apart]
        by_welch = [difference(*own, 0.05 / servers) for own in samples.values()]
        welch_widths += [each.high - each.low for each in by_welch]
    assert wrong / races < 0.08
    assert np.median(widths) < 0.7 * np.median(welch_widths)


def test_a_mean_has_no_interval_with_a_zero_or_without_any_two_starts() -> None:
    means = learned_means({"a": [1.0, 1.1], "b": [], "c": [0.0, 1.0]})
    assert {key: mean.value for key, mean in means.items()} == {"a": 1.05, "c": 0.5}
    alone = learned_means({"a": [1.0], "b": [2.0]})
    assert learned_means({}) == {}
    for first, second in ((means["a"], means["c"]), (alone["a"], alone["b"])):
        interval = learned_difference(first, second, 0.05)
        assert (interval.low, interval.high) == (-math.inf, math.inf)


def test_ignores_missing_trials_and_rejects_a_side_without_any() -> None:
    rates = np.array([[100.0, np.nan], [np.nan, np.nan], [110.0, 110.0]])
    assert change(rates, 2 * rates, 0.05).ratio == pytest.approx(2)
    with pytest.raises(ValueError, match="no rate to compare"):
        change([[np.nan]], [[1.0]], 0.05)


def test_one_invocation_has_no_interval() -> None:
    result = change([[100.0, 101.0]], [[200.0, 202.0]], 0.05)
    assert result.ratio == pytest.approx(2)
    assert (result.low, result.high, result.known) == (0.0, math.inf, False)


@pytest.mark.parametrize("rate", [100.0, 1000 / 3])
def test_equal_rates_have_not_changed_by_rounding(rate: float) -> None:
    """The means of 4 and of 7 equal logarithms differ in the last bit."""
    result = change(np.full((4, 4), rate), np.full((3, 7), rate), 0.05)
    assert (result.low, result.ratio, result.high) == (1, 1, 1)
    assert not result.known


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
    return fit_slices(replace(slices, log_rate=slices.log_rate + faster)).estimate


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
    for each, same in zip(relative_changes(first, faster, EVERYONE, 0.01), expected, strict=True):
        assert (each.ratio, each.low) == pytest.approx((same.ratio, same.low), rel=1e-6)


def test_equal_races_seldom_differ() -> None:
    generator = np.random.default_rng(3)
    pairs = 30
    false_alarms = 0
    for _ in range(pairs):
        changes = relative_changes(raced(generator), raced(generator), EVERYONE, 0.05 / 5)
        false_alarms += any(change.known for change in changes)
    assert false_alarms / pairs <= binomial_limit(0.05, pairs)


def test_bug_a_change_between_races_lost_what_their_slices_disagree_on() -> None:
    """A server that pauses had a change with an interval of 1 %, and of 22 % in either race."""
    first, second = (raced(np.random.default_rng(seed)) for seed in (1, 2))
    disagreement = np.zeros((5, 5))
    disagreement[0, 1:] = disagreement[1:, 0] = 0.2
    pausing = replace(second, disagreement=disagreement)
    plain, wider = (relative_changes(first, each, EVERYONE, 0.01) for each in (second, pausing))
    more = [math.log(b.high / a.high) for a, b in zip(plain, wider, strict=True)]
    assert more == pytest.approx([0.2, 0.05, 0.05, 0.05, 0.05])


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
