"""Rankings with ties: consistent ranks, groups and pairs."""

import itertools
import math

import numpy as np
import pytest

from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.ranks import rank
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
    assert ranking.probability_faster("null", "php") == pytest.approx(1)
    assert ranking.probability_faster("php", "null") == pytest.approx(0)
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


def test_one_invocation_settles_nothing_by_default() -> None:
    race = Noise().rates(np.random.default_rng(35), [0.0, 1.0], invocations=1)
    assert rank(race, "ab").pairs[0].verdict is Verdict.UNDECIDED
    pair = rank(race, "ab", fewest_invocations=1).pairs[0]
    assert pair.verdict is Verdict.SEPARATED
    assert "without start-to-start variance" in pair.ratio.method


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
        assert ranking.probability_faster("a", "b") == 0.5
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
