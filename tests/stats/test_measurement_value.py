"""What another instance or more slices would buy."""

import math
from dataclasses import replace

import numpy as np
import pytest

from deadheat.stats.measurement_value import Action, Cost, contribution, plan
from deadheat.stats.slice_model import ModelFit, fit_slices
from tests.stats.slice_races import QUIET, Field, Schedule, race

CHEAP = Cost(instance_s=1.0, slice_s=0.075)
DEAR = Cost(instance_s=12.0, slice_s=0.075)
ALPHA = 0.001


@pytest.fixture(scope="module")
def fit() -> ModelFit:
    """Contender 0's instances differ, contender 1's slices are noisy; 2 and 3 are calm."""
    field = Field([0.0, 0.0, 0.05, 0.5], [0.05, 0.0, 0.01, 0.01], [0.01, 0.2, 0.01, 0.01], [0] * 4)
    return fit_slices(race(np.random.default_rng(41), field, Schedule(200, 5), QUIET))


def test_unlike_instances_ask_for_another_instance(fit: ModelFit) -> None:
    value = contribution(fit, 0, CHEAP, ALPHA)
    assert value.between > value.within
    assert value.action is Action.INSTANCE


def test_noisy_slices_of_like_instances_ask_for_slices(fit: ModelFit) -> None:
    noisy, unlike = contribution(fit, 1, DEAR, ALPHA), contribution(fit, 0, DEAR, ALPHA)
    assert noisy.action is Action.SLICES
    assert noisy.within / noisy.between > 5 * unlike.within / unlike.between


def test_the_two_parts_make_up_the_variance_of_a_pair(fit: ModelFit) -> None:
    first, second = contribution(fit, 0, CHEAP, ALPHA), contribution(fit, 2, CHEAP, ALPHA)
    total = first.between + first.within + second.between + second.within
    assert total == pytest.approx(fit.robust.variance[0, 2], rel=0.1)


def test_a_dear_instance_gets_more_slices(fit: ModelFit) -> None:
    cheap, dear = contribution(fit, 2, CHEAP, ALPHA), contribution(fit, 2, DEAR, ALPHA)
    assert cheap.slices_per_instance <= dear.slices_per_instance


def test_a_decided_pair_needs_no_time(fit: ModelFit) -> None:
    decided = plan(fit, 2, 3, (CHEAP, CHEAP), margin=0.03, alpha=0.01)
    assert decided is not None
    assert decided.seconds == 0


def test_a_plan_spends_on_the_contender_that_is_unsure(fit: ModelFit) -> None:
    needed = plan(fit, 0, 2, (CHEAP, CHEAP), margin=0.03, alpha=0.01)
    assert needed is not None
    assert 0 < needed.seconds < math.inf
    assert needed.extra_instances[0] > needed.extra_instances[1]


def test_dear_instances_take_longer(fit: ModelFit) -> None:
    cheap = plan(fit, 0, 2, (CHEAP, CHEAP), margin=0.03, alpha=0.01)
    dear = plan(fit, 0, 2, (DEAR, DEAR), margin=0.03, alpha=0.01)
    assert cheap is not None
    assert dear is not None
    assert dear.seconds > cheap.seconds


def test_a_pair_without_an_interval_has_no_plan(fit: ModelFit) -> None:
    slices = race(np.random.default_rng(42), Field.copies(2), Schedule(30, 1), QUIET)
    unknown = fit_slices(replace(slices, contenders=2))
    assert plan(unknown, 0, 1, (CHEAP, CHEAP), margin=0.03, alpha=0.05) is None
