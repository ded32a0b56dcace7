"""The ranking that a model of slices gives."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from deadheat.stats.model.slice_model import ModelFit, fit_slices
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.model_ranking import rank_from_model
from tests.stats.slice_races import QUIET, Field, Schedule, race

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
