"""Rankings with ties: consistent ranks, groups and pairs; intervals of ratios and of one rate."""

import itertools
import math

import numpy as np
import pytest

from deadheat.stats.ranking.alpha_spending import ErrorLevel
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.pairs import REQUESTS_FOR_P99, PairFits, fit_pairs, half_width, is_known
from deadheat.stats.ranking.ranks import rank
from deadheat.stats.ranking.ratio import Ratios
from tests.stats.races import MACHINES, Noise, binomial_limit

NAMES = ("go", "node", "ruby", "php", "null")
LOG_MEANS = [0.5, 0.5, 0.0, -0.7, 2.0]


@pytest.fixture
def rates() -> np.ndarray:
    return Noise(slice_sd=0.02, start_sd=0.01).rates(np.random.default_rng(31), LOG_MEANS)


def test_tied_contenders_share_ranks_and_group(rates: np.ndarray) -> None:
    ranking = rank(rates, NAMES, controls=["null"])
    assert [row.rank for row in ranking.rows] == ["1-2", "1-2", "3", "4"]
    assert [row.group for row in ranking.rows] == [1, 1, 2, 3]
    assert {row.name for row in ranking.rows[:2]} == {"go", "node"}
    assert [set(names) for names in ranking.dead_heats] == [{"go", "node"}]


def test_ratio_to_leader_is_one_for_the_leader(rates: np.ndarray) -> None:
    first, *_, last = rank(rates, NAMES, controls=["null"]).rows
    assert (first.ratio_to_leader.low, first.ratio_to_leader.high) == (1, 1)
    assert last.ratio_to_leader.low < math.exp(-1.2) < last.ratio_to_leader.high
    assert last.ratio_to_leader.blocks == 36
    assert last.ratio_to_leader.invocations == 3
    assert "95 % jointly over 6 pairs" in last.ratio_to_leader.method
    assert last.rate_median == pytest.approx(math.exp(-0.7), rel=0.05)


def test_controls_add_to_the_variance_and_are_not_ranked(rates: np.ndarray) -> None:
    with_null = rank(rates, NAMES, controls=["null"])
    without = rank(rates[:, :, :4], NAMES[:4])
    assert [row.name for row in with_null.rows] == [row.name for row in without.rows]
    assert with_null.minimum_detectable_effect < without.minimum_detectable_effect


def test_pairs_name_the_faster_contender_first(rates: np.ndarray) -> None:
    ranking = rank(rates, NAMES)
    assert len(ranking.pairs) == 10
    assert all(pair.ratio.ratio >= 1 for pair in ranking.pairs)
    assert ranking.pair("null", "php").probability_faster == pytest.approx(1)
    assert ranking.pair("php", "null") is ranking.pair("null", "php")


def test_verdicts_follow_from_their_intervals() -> None:
    generator = np.random.default_rng(32)
    verdicts = set()
    for spread in (0.0, 0.02, 0.1):
        for slice_sd in (0.005, 0.05):
            race = Noise(slice_sd=slice_sd).rates(generator, [0.0, spread, 3 * spread])
            for pair in rank(race, "abc", margin=0.03).pairs:
                within = pair.ratio.low > 1 / 1.03 and pair.ratio.high < 1.03
                apart = pair.ratio.low > 1 and not within
                assert (pair.verdict is Verdict.EQUIVALENT) == within
                assert (pair.verdict is Verdict.SEPARATED) == apart
                assert (pair.effort is not None) == (pair.verdict is Verdict.UNDECIDED)
                verdicts.add(pair.verdict)
    assert verdicts == set(Verdict)


def test_dead_heat_has_no_separated_rows() -> None:
    """Regression: rows like their neighbors chained the first to the last."""
    generator = np.random.default_rng(33)
    sizes = set()
    for _ in range(20):
        race = Noise().rates(generator, [0.0, 0.04, 0.08, 0.2, 0.24])
        ranking = rank(race, "abcde")
        groups = {row.name: row.group for row in ranking.rows}
        for pair in ranking.pairs:
            if groups[pair.faster] == groups[pair.slower]:
                assert pair.verdict is not Verdict.SEPARATED
        firsts = [
            row.name
            for row in ranking.rows
            if list(groups.values()).index(row.group) == list(groups).index(row.name)
        ]
        for above, below in itertools.pairwise(firsts):
            members = [name for name in groups if groups[name] == groups[above]]
            assert any(ranking.pair(name, below).verdict is Verdict.SEPARATED for name in members)
        sizes.add(len(firsts))
    assert len(sizes) > 1


def test_contender_without_a_valid_trial_is_not_ranked(rates: np.ndarray) -> None:
    rates[:, :, 1] = np.nan
    ranking = rank(rates, NAMES)
    assert ranking.unranked == ("node",)
    assert [row.name for row in ranking.rows] == ["null", "go", "ruby", "php"]
    assert ranking.rows[-1].rank == "4"


def test_contenders_without_a_shared_block_are_undecided() -> None:
    race = Noise().rates(np.random.default_rng(34), [0.0, 1.0])
    race[:, ::2, 0] = np.nan
    race[:, 1::2, 1] = np.nan
    ranking = rank(np.concatenate([race, race], axis=2)[:, :, [0, 2, 1, 3]], "aAbB")
    pair = ranking.pair("a", "b")
    assert pair.verdict is Verdict.UNDECIDED
    assert (pair.ratio.low, pair.ratio.high) == (0, math.inf)
    assert pair.effort is None
    assert not ranking.settled


def test_one_invocation_settles_nothing() -> None:
    race = Noise().rates(np.random.default_rng(35), [0.0, 1.0], invocations=1)
    assert rank(race, "ab").pairs[0].verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("seconds", [1.0, 0.3, 7.0])
def test_rates_without_noise_are_decided_whether_or_not_they_are_rounded(seconds: float) -> None:
    """Exact rates had no interval; rates off by rounding had one of 1e-16."""
    rates = np.broadcast_to(np.array([3000.0, 3000, 3100, 1000]) / seconds, (3, 7, 4))
    drift = 1 + np.random.default_rng(3).random((3, 7, 1))
    for seen in (rates, rates * drift):
        ranking = rank(seen, "abcd")
        verdicts = {pair.faster + pair.slower: pair.verdict for pair in ranking.pairs}
        assert verdicts.pop("ab") is Verdict.EQUIVALENT
        assert set(verdicts.values()) == {Verdict.SEPARATED}
        assert ranking.pair("a", "b").probability_faster == 0.5
        assert ranking.minimum_detectable_effect == 0


def test_one_contender_is_first_and_none_gives_an_empty_ranking() -> None:
    ranking = rank(Noise().rates(np.random.default_rng(36), [0.0]), ["alone"])
    assert (ranking.rows[0].rank, ranking.settled, ranking.pairs) == ("1", True, ())
    ranking = rank(np.full((3, 4, 2), np.nan), "ab")
    assert ranking.rows == ()
    assert ranking.unranked == ("a", "b")


@pytest.mark.parametrize("names", ["ab", "aab"])
def test_rejects_names_that_do_not_match_the_columns(names: str) -> None:
    with pytest.raises(ValueError, match="expected 3 distinct"):
        rank(np.ones((3, 4, 3)), names)


@pytest.mark.parametrize("machine", ["starts differ", "combination"])
def test_rank_intervals_hold_jointly(machine: str) -> None:
    """Two ties and small gaps; the interval must include all ranks of a tie."""
    truth = np.array([0.0, 0.0, 0.01, 0.03, 0.1, 0.1, 0.12, 0.3])
    best = 1 + (truth[:, None] < truth).sum(axis=1)
    worst = 8 - (truth[:, None] > truth).sum(axis=1)
    generator = np.random.default_rng(37)
    races = 60
    wrong = 0
    for _ in range(races):
        rows = rank(MACHINES[machine].rates(generator, truth.tolist()), "01234567").rows
        wrong += any(
            row.rank_low > best[int(row.name)] or row.rank_high < worst[int(row.name)]
            for row in rows
        )
    assert wrong / races <= binomial_limit(0.05, races)


PAIRS = np.triu_indices(8, k=1)


def fits(machine: str, seed: int, truth: list[float]) -> PairFits:
    return fit_pairs(MACHINES[machine].rates(np.random.default_rng(seed), truth, 3, 4))


def test_separated_pairs_leave_their_error_to_the_others() -> None:
    truth = [0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    stepped = Ratios(fits("quiet", 1, truth), ErrorLevel(comparisons=28))
    assert stepped.separated[PAIRS].sum() >= 27
    assert stepped.alpha_left == pytest.approx(0.05 / (28 - stepped.separated[PAIRS].sum() or 1))
    assert stepped.half_width[0, 1] < stepped.fits.half_width(stepped.level.alpha)[0, 1]
    assert stepped.half_width[0, 7] == stepped.fits.half_width(stepped.level.alpha)[0, 7]


def test_equal_contenders_leave_no_error_to_others() -> None:
    stepped = Ratios(fits("quiet", 5, [0.0] * 8), ErrorLevel(comparisons=28))
    assert not stepped.separated.any()
    same = stepped.interval(2, 2)
    assert (same.low, same.ratio, same.high) == (1, 1, 1), "to itself"
    assert stepped.alpha_left == stepped.level.alpha


def test_interval_excludes_one_if_and_only_if_separated() -> None:
    """If a later step separated the pair, the interval ends at 1."""
    cut = 0
    for seed in range(20):
        stepped = Ratios(
            fits("combination", seed, np.linspace(0, 1.5, 8).tolist()), ErrorLevel(comparisons=28)
        )
        for a, b in zip(*PAIRS, strict=True):
            ratio, inverse = stepped.interval(int(a), int(b)), stepped.interval(int(b), int(a))
            assert (ratio.low >= 1 or ratio.high <= 1) == bool(stepped.separated[a, b])
            assert ratio.low == pytest.approx(1 / inverse.high)
            cut += 1.0 in (ratio.low, ratio.high)
    assert cut > 0


@pytest.mark.parametrize("machine", MACHINES)
def test_intervals_of_a_table_hold_jointly(machine: str) -> None:
    """Half of the contenders are equal, and get the error that the others leave."""
    truth = np.array([0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.5, 2.0])
    races, wrong = 60, 0
    for seed in range(races):
        stepped = Ratios(fits(machine, seed, truth.tolist()), ErrorLevel(comparisons=28))
        error = stepped.fits.log_ratio - (truth[:, None] - truth[None, :])
        beyond = np.abs(error) > stepped.half_width
        false = stepped.separated & (truth[:, None] == truth[None, :])
        wrong += bool((beyond | false)[PAIRS].any())
    assert wrong / races <= binomial_limit(0.05, races)


def test_contenders_without_a_shared_block_have_no_interval() -> None:
    rates = np.exp(np.random.default_rng(4).normal(0, 0.1, (2, 4, 2)))
    rates[0, :, 0], rates[1, :, 1] = np.nan, np.nan
    interval = Ratios(fit_pairs(rates), ErrorLevel()).interval(0, 1)
    assert math.isnan(interval.ratio)
    assert (interval.low, interval.high) == (0.0, math.inf)


def places(rates: list[list[float]]) -> dict[tuple[int, int, int], float]:
    return {(i, 1, b): rate for i, row in enumerate(rates) for b, rate in enumerate(row)}


def test_one_instance_has_no_interval() -> None:
    assert half_width(places([[1000.0, 1010.0, 990.0]])) == math.inf


def test_blocks_of_an_instance_do_not_count_as_instances() -> None:
    few, many = places([[1000.0], [1020.0]]), places([[1000.0] * 50, [1020.0] * 50])
    assert math.isclose(half_width(few), half_width(many))


def test_a_rate_is_known_with_a_narrow_interval_and_enough_requests() -> None:
    close = places([[1000.0], [1005.0], [995.0], [1001.0]])
    assert is_known(close, REQUESTS_FOR_P99)
    assert not is_known(close, REQUESTS_FOR_P99 - 1)
    assert not is_known(places([[1000.0], [1300.0]]), REQUESTS_FOR_P99)


def test_the_interval_holds_the_true_rate_as_often_as_it_says() -> None:
    generator = np.random.default_rng(31)
    races, misses = 500, 0
    for _ in range(races):
        logs = 0.02 * generator.standard_normal((4, 1)) + 0.05 * generator.standard_normal((4, 6))
        rates = places((1000 * np.exp(logs)).tolist())
        middle = float(np.mean(logs))
        misses += abs(middle) > half_width(rates)
    assert misses / races <= binomial_limit(0.05, races)
