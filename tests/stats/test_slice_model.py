"""The additive model of slices: exact where it must be, honest in simulated races."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import linalg

from deadheat.stats.distributions import t_critical
from deadheat.stats.model.contender_effects import EffectEstimate, _combine
from deadheat.stats.model.counted_slices import count_slices, slices_of
from deadheat.stats.model.machine_state import equations
from deadheat.stats.model.slice_layout import Layout
from deadheat.stats.model.slice_model import ModelFit, fit_slices
from deadheat.stats.model.slices import SliceColumns, SliceRow, SliceTable, modeled_names
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.model_ranking import rank_from_model
from tests.stats.races import binomial_limit
from tests.stats.slice_races import DRIFTING, NOISY, PAUSES, QUIET, Field, Machine, Schedule, race
from tests.stats.test_machine_state import INTENSITY, small_race, walk_precision


def test_effects_are_those_of_dense_generalized_least_squares() -> None:
    layout = Layout.of(small_race())
    weights = np.random.default_rng(6).uniform(100, 1000, len(layout))
    spread = np.linspace(0.0001, 0.001, 6)
    combined = _combine(layout, equations(layout, layout.log_rate, weights, INTENSITY), spread)

    instances = np.eye(6)[layout.instance]
    covariance = np.diag(1 / weights) + instances @ np.diag(spread) @ instances.T
    levels = np.eye(3)[layout.block]
    for block in range(3):
        mine = np.flatnonzero(layout.block == block)
        walk = linalg.pinv(walk_precision(layout.time_s[mine]))
        covariance[np.ix_(mine, mine)] += walk
    design = np.concatenate([np.eye(3)[layout.contender][:, 1:], levels], axis=1)
    inverse = linalg.inv(covariance)
    normal = linalg.inv(design.T @ inverse @ design)
    expected = normal @ design.T @ inverse @ layout.log_rate

    effects = combined.effects - combined.effects[0]
    assert effects[1:] == pytest.approx(expected[:2])
    contrast = np.array([-1, 1, 0])
    assert contrast @ combined.covariance @ contrast == pytest.approx(normal[0, 0])


def test_what_the_machine_does_to_a_whole_block_cancels() -> None:
    slices = race(np.random.default_rng(7), Field.mixed([0.0] * 5), Schedule(40, 3), QUIET)
    shaken = replace(slices, log_rate=slices.log_rate + np.sin(3.0 * slices.block))
    quiet, loud = fit_slices(slices).estimate, fit_slices(shaken).estimate
    assert np.diff(loud.log_rate) == pytest.approx(np.diff(quiet.log_rate), abs=1e-6)
    assert loud.variance == pytest.approx(quiet.variance, rel=1e-4)


def test_slices_may_come_in_any_order_with_any_instance_numbers() -> None:
    slices = race(np.random.default_rng(8), Field.mixed([0.0] * 4), Schedule(24, 3))
    order = np.argsort(slices.log_rate)
    names = ("log_rate", "contender", "instance", "block", "round", "time_s")
    shuffled = replace(slices, **{name: getattr(slices, name)[order] for name in names})
    renumbered = replace(shuffled, instance=shuffled.instance * 7 + 3)
    expected = fit_slices(slices).estimate
    assert fit_slices(renumbered).estimate.log_rate == pytest.approx(expected.log_rate)


def test_rates_are_those_of_the_slices() -> None:
    field = Field.copies(3, instance_sd=0.001)
    slices = race(np.random.default_rng(10), replace(field, log_rates=[9.0, 9.5, 10.0]),
                  Schedule(60, 3), QUIET)  # fmt: skip
    fit = fit_slices(slices)
    means = [-np.log(np.exp(-slices.log_rate[slices.contender == k]).mean()) for k in range(3)]
    assert fit.estimate.log_rate == pytest.approx(means, abs=0.01)
    assert fit.estimate.log_rate == pytest.approx([9, 9.5, 10], abs=0.05)


def test_a_contender_that_left_early_is_rated_as_if_it_had_stayed() -> None:
    """The machine slows down by half after it left; its rate is that of the whole race."""
    slices = race(np.random.default_rng(11), Field.copies(4, 0.002),
                  Schedule(80, 4, last_round=(30, 80, 80, 80)), QUIET)  # fmt: skip
    slowed = replace(slices, log_rate=slices.log_rate - 0.7 * (slices.round >= 40))
    rates = fit_slices(slowed).estimate.log_rate
    assert rates[0] == pytest.approx(rates[1:].mean(), abs=0.03)


def test_weights_leave_a_servers_own_pauses_in_its_rate() -> None:
    generator = np.random.default_rng(13)
    field = replace(Field.copies(8, instance_sd=0.0), pauses=[PAUSES] + [0] * 7)
    gaps = []
    for _ in range(25):
        log_rates = fit_slices(race(generator, field, Schedule(60, 3))).estimate.log_rate
        gaps.append(log_rates[0] - log_rates[1:].mean())
    error = np.std(gaps) / 5
    assert np.mean(gaps) == pytest.approx(field.true_log_rates[0], abs=3 * error)
    assert error < 0.005


def test_a_single_instance_has_no_interval() -> None:
    slices = race(np.random.default_rng(16), Field.copies(4), Schedule(40, (1, 4, 4, 4)), QUIET)
    plain = fit_slices(slices).estimate
    assert np.isnan(plain.degrees_of_freedom[0, 1])
    assert np.isfinite(plain.degrees_of_freedom[1, 2])


def test_contenders_that_never_met_have_no_ratio() -> None:
    slices = race(np.random.default_rng(17), Field.copies(4), Schedule(48, 4), QUIET)
    first_half = slices.block % 2 == 0
    apart = slices.taken(first_half == (slices.contender < 2))
    estimate = fit_slices(apart).estimate
    assert np.isnan(estimate.variance[0, 2])
    assert np.isfinite(estimate.variance[0, 1])
    assert estimate.log_rate == pytest.approx([0, 0, 0, 0], abs=0.15)


def test_one_contender_alone_has_the_mean_rate_of_its_slices() -> None:
    slices = race(np.random.default_rng(21), Field.copies(2), Schedule(48, 4), QUIET)
    alone = slices.taken(slices.contender == 0)
    fit = fit_slices(replace(alone, contenders=1))
    assert fit.estimate.log_rate[0] == pytest.approx(alone.log_rate.mean(), abs=0.02)
    assert np.isnan(fit.estimate.degrees_of_freedom).all()
    assert np.isnan(fit.estimate.variance).all(), "it was rounding over rounding"


def test_the_model_holds_when_hardly_anything_ran_side_by_side() -> None:
    """An interrupted race had no two instances in one block, and its last look divided by zero."""
    generator = np.random.default_rng(1)
    whole = race(generator, Field.copies(3), Schedule(24, 4), QUIET)
    for kept in (0.02, 0.05, 0.1, 0.2):
        for _ in range(20):
            few = whole.taken(generator.random(len(whole)) < kept)
            if len(few):
                log_rate = fit_slices(few).estimate.log_rate
                met = np.bincount(few.contender, minlength=3) > 0
                assert np.abs(log_rate[met]).max() < 2.0
                assert np.isnan(log_rate[~met]).all()


def test_heats_are_linked_by_a_control_that_ran_in_both() -> None:
    """Nothing but the control's own instances links the heats: their variance is in the pair."""
    schedule = Schedule(96, 6, lockstep=True)
    slices = race(np.random.default_rng(18), Field.copies(5, 0.03), schedule, QUIET)
    first_heat = slices.round // 16 % 2 == 0
    control = slices.contender == 4
    heats = slices.taken(control | (first_heat == (slices.contender < 2)))
    estimate = fit_slices(heats).estimate
    assert np.isfinite(estimate.degrees_of_freedom[0, 2])
    legs = estimate.variance[0, 1] + estimate.variance[2, 3]
    assert estimate.variance[0, 2] > legs / 2
    assert np.isnan(fit_slices(heats.taken(heats.contender < 4)).estimate.variance[0, 2])


def test_slices_without_any_noise_are_exact() -> None:
    slices = small_race(contenders=4, rounds=6)
    fit = fit_slices(replace(slices, log_rate=np.multiply(0.5, slices.contender, dtype=float)))
    assert np.diff(fit.estimate.log_rate) == pytest.approx(0.5)
    assert np.nanmax(fit.estimate.variance) < 1e-6


def test_a_contender_without_slices_is_left_out() -> None:
    slices = race(np.random.default_rng(19), Field.copies(3), Schedule(30, 3), QUIET)
    none = np.zeros(4)
    fit = fit_slices(replace(slices, contenders=4, silent=none, paused=none))
    assert np.isnan(fit.estimate.log_rate[3])
    assert np.isnan(fit.estimate.degrees_of_freedom[3]).all()
    assert np.isfinite(fit.estimate.degrees_of_freedom[0, 1])


def test_own_noise_that_instances_share_is_in_the_intervals() -> None:
    """Instances take turns, so they share it; half of such races had a wrong interval."""
    field = replace(Field.copies(8), own_sd=0.02, own_s=60.0)
    schedule = Schedule(320, 6, turns=True)
    generator = np.random.default_rng(22)
    races, wrong = 30, 0
    for _ in range(races):
        wrong += is_wrong(fit_slices(race(generator, field, schedule, QUIET)).estimate, field)
    assert wrong / races <= binomial_limit(0.05, races)


def test_rejects_slices_that_cannot_be() -> None:
    slices = small_race()
    with pytest.raises(ValueError, match="no slices"):
        fit_slices(slices.taken(np.zeros(len(slices), dtype=bool)))
    with pytest.raises(ValueError, match="one contender"):
        replace(slices, instance=np.zeros(len(slices), dtype=np.int64))
    with pytest.raises(ValueError, match="finite"):
        replace(slices, log_rate=np.full(len(slices), -np.inf))
    with pytest.raises(ValueError, match="block"):
        replace(slices, block=slices.block[:-1])


def is_wrong(estimate: EffectEstimate, field: Field) -> bool:
    """Whether any interval of the race misses, at 5 % over all pairs."""
    truth = field.true_log_rates
    upper = np.triu_indices(len(truth), k=1)
    reach = t_critical(0.025 / len(upper[0]), estimate.degrees_of_freedom)
    log_ratio = estimate.log_rate[:, None] - estimate.log_rate
    miss = np.abs(log_ratio - (truth[:, None] - truth))
    return bool((miss > reach * np.sqrt(estimate.variance))[upper].any())


HONEST_RACES: dict[str, tuple[Field, Schedule, Machine]] = {
    "fifteen copies": (Field.copies(15), Schedule(24, 3), NOISY),
    "one start-unstable": (Field.mixed([0.0] * 8, start_unstable=True), Schedule(48, 4), NOISY),
    "stopped early": (
        Field.mixed([0.0] * 8),
        Schedule(72, (3, 4, 4, 5, 6, 6, 6, 6), (24, 24, 32, 40, 48, 56, 72, 72)),
        NOISY,
    ),
    "drift": (Field.mixed([0.0] * 8), Schedule(48, 4), DRIFTING),
}


@pytest.mark.parametrize("name", HONEST_RACES)
def test_no_pair_is_falsely_told_apart_in_more_than_one_race_of_twenty(name: str) -> None:
    """The short form of bench/model.py; all pairs of a race at once."""
    field, schedule, machine = HONEST_RACES[name]
    generator = np.random.default_rng(20)
    races, wrong = 30, 0
    for _ in range(races):
        wrong += is_wrong(fit_slices(race(generator, field, schedule, machine)).estimate, field)
    assert wrong / races <= binomial_limit(0.05, races)


NAMES = ("go", "node", "ruby", "php", "null")


@pytest.fixture(scope="module")
def fit() -> ModelFit:
    field = replace(Field.copies(5, 0.01), log_rates=[9.5, 9.5, 9.0, 8.3, 11.0])
    return fit_slices(race(np.random.default_rng(31), field, Schedule(100, 6), QUIET))


def test_a_tie_shares_its_ranks_and_its_group(fit: ModelFit) -> None:
    ranking = rank_from_model(fit, NAMES, controls=["null"])
    assert [row.rank for row in ranking.rows] == ["1-2", "1-2", "3", "4"]
    assert [row.group for row in ranking.rows] == [1, 1, 2, 3]
    assert [set(names) for names in ranking.dead_heats] == [{"go", "node"}]


def test_ratios_multiply_through_and_are_those_of_the_printed_rates(fit: ModelFit) -> None:
    ranking = rank_from_model(fit, NAMES)
    rates = {row.name: row.rate_median for row in ranking.rows}
    for a, b in combinations(rates, 2):
        assert ranking.pair(a, b).ratio.ratio == pytest.approx(rates[a] / rates[b])
    assert list(rates.values()) == sorted(rates.values(), reverse=True)
    assert all(pair.ratio.ratio >= 1 for pair in ranking.pairs)


def test_states_its_method_and_an_undecided_pair_what_it_needs(fit: ModelFit) -> None:
    method = rank_from_model(fit, NAMES).pair("go", "php").ratio.method
    assert "additive model" in method
    assert "95 % jointly over 10 pairs" in method
    for pair in rank_from_model(fit, NAMES, margin=0.001).pairs:
        assert (pair.effort is not None) == (pair.verdict is Verdict.UNDECIDED)


def test_a_contender_without_slices_is_not_ranked(fit: ModelFit) -> None:
    slices = race(np.random.default_rng(32), Field.copies(2), Schedule(40, 4), QUIET)
    of_three = replace(slices, contenders=3, silent=np.zeros(3), paused=np.zeros(3))
    ranking = rank_from_model(fit_slices(of_three), "abc")
    assert ranking.unranked == ("c",)
    assert len(ranking.rows) == 2


def test_one_instance_each_leaves_all_undecided() -> None:
    slices = race(np.random.default_rng(33), Field.copies(3), Schedule(40, 1), QUIET)
    ranking = rank_from_model(fit_slices(slices), "abc")
    assert all(pair.verdict is Verdict.UNDECIDED for pair in ranking.pairs)
    assert ranking.pairs[0].ratio.high == math.inf


def test_two_instances_at_an_early_look_give_a_finite_interval() -> None:
    """Regression: t on few degrees of freedom overflowed a float."""
    slices = race(np.random.default_rng(34), Field.copies(3), Schedule(16, 2), QUIET)
    for pair in rank_from_model(fit_slices(slices), "abc", share=0.001).pairs:
        assert math.isfinite(pair.ratio.high)


def test_names_fit_the_contenders(fit: ModelFit) -> None:
    for names in ("ab", "aabcd"):
        with pytest.raises(ValueError, match="expected 5 distinct"):
            rank_from_model(fit, names)


ROUNDS = 8
CONTROLS = ["null-server", "reference"]


def raced_blocks(blocks: list[str]) -> SliceColumns:
    """Blocks of these contenders (one letter each) and a control, with an instance per block.

    The machine's speed changes from block to block, and the control's rate more than the others'.
    The instances of `b` differ by 3 %.
    """
    generator = np.random.default_rng(1)
    table = SliceTable()
    for number, names in enumerate(blocks):
        speed = 0.2 * (number % 2)
        start = generator.normal(0, 0.03)
        for round_ in range(ROUNDS):
            for place, name in enumerate([*names, *CONTROLS]):
                control = name in CONTROLS
                instance = 1000 + place if control else 10 * number + ord(name)
                log_rate = 9 + speed * (1.5 if control else 1.0)
                log_rate += generator.normal(0, 0.01) + (start if name == "b" else 0.0)
                at_s = (number * ROUNDS + round_) * 2.0 + 0.2 * place
                row = SliceRow(
                    name, instance, number, number * ROUNDS + round_, at_s, float(np.exp(log_rate))
                )
                table.add([row])
    return table.columns


def fit_of(columns: SliceColumns, names: list[str]) -> ModelFit:
    return fit_slices(slices_of(count_slices(columns), names))


def test_controls_are_left_out_where_contenders_race_together() -> None:
    assert modeled_names(raced_blocks(["ab", "ab", "a"]), ["a", "b", "c"], CONTROLS) == ["a", "b"]


def test_controls_link_the_groups_of_a_large_field() -> None:
    names = modeled_names(raced_blocks(["ab", "cd", "bc", "da"]), "abcd", CONTROLS)
    assert names == [*"abcd", *CONTROLS]


def test_a_single_contender_is_compared_with_the_controls() -> None:
    assert modeled_names(raced_blocks(["a", "a"]), ["a"], CONTROLS) == ["a", *CONTROLS]


def test_a_change_of_speed_does_not_widen_the_interval_of_two_contenders() -> None:
    """`regress` said INCONCLUSIVE of -5 %: 0.951 [0.903, 1.002] after 26 blocks, not +- 0.9 %."""
    columns = raced_blocks(["ab"] * 8)
    widths = [
        float(np.sqrt(fit_of(columns, names).estimate.variance[0, 1]))
        for names in (["a", "b"], ["a", "b", *CONTROLS])
    ]
    assert widths[0] < widths[1] / 2


def test_an_instance_alone_in_its_block_says_nothing_of_how_much_instances_differ() -> None:
    """Its block has no other; the variance of all was 10,000 %."""
    alone = fit_of(raced_blocks(["ab"] * 6 + ["b"]), ["a", "b"]).estimate.instance_variance
    together = fit_of(raced_blocks(["ab"] * 6), ["a", "b"]).estimate.instance_variance
    assert np.allclose(alone, together, rtol=0.5, atol=1e-4)


@pytest.mark.parametrize("together", range(1, 9))
def test_bug_rounding_decided_if_a_contender_shows_how_its_instances_scatter(together: int) -> None:
    """It had one instance beside others. On some processors, its scatter was known to be none."""
    names = list("abcd")
    blocks = ["abcd", *["abc"] * together]
    without = fit_of(raced_blocks(blocks), names).estimate
    with_one_alone = fit_of(raced_blocks([*blocks, "d"]), names).estimate
    expected = pytest.approx(without.contender_degrees, rel=0.01)
    assert with_one_alone.contender_degrees == expected
