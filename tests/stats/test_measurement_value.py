"""What another instance or more slices would buy."""

from dataclasses import replace

import numpy as np
import pytest

from deadheat.stats.model.measurement_value import Action, Contribution, Cost, contributions
from deadheat.stats.model.slice_model import ModelFit, fit_slices
from tests.stats.slice_races import QUIET, Field, Schedule, race

CHEAP = Cost(instance_s=1.0, slice_s=0.075)
DEAR = Cost(instance_s=12.0, slice_s=0.075)
ALPHA = 0.001


def contribution(fit: ModelFit, contender: int, cost: Cost) -> Contribution:
    return contributions(fit, {contender: cost}, ALPHA)[contender]


@pytest.fixture(scope="module")
def fit() -> ModelFit:
    """Contender 0's instances differ, contender 1's slices are noisy; 2 and 3 are calm."""
    field = Field([0.0, 0.0, 0.05, 0.5], [0.05, 0.0, 0.01, 0.01], [0.01, 0.2, 0.01, 0.01], [0] * 4)
    return fit_slices(race(np.random.default_rng(41), field, Schedule(200, 5), QUIET))


def test_unlike_instances_ask_for_another_instance(fit: ModelFit) -> None:
    assert contribution(fit, 0, CHEAP).action is Action.INSTANCE


def test_noisy_slices_of_like_instances_ask_for_slices(fit: ModelFit) -> None:
    assert contribution(fit, 1, DEAR).action is Action.SLICES


def test_a_cheap_instance_gains_more_per_second_than_a_dear_one(fit: ModelFit) -> None:
    cheap, dear = contribution(fit, 0, CHEAP), contribution(fit, 0, DEAR)
    assert cheap.action is dear.action is Action.INSTANCE
    assert cheap.gain_per_s > dear.gain_per_s


def test_few_degrees_of_freedom_ask_for_an_instance_though_instances_are_alike() -> None:
    """Two servers in lockstep: instances explain nothing, and t is most of the interval."""
    generator = np.random.default_rng(43)
    few = fit_slices(race(generator, Field.copies(2), Schedule(120, 4), QUIET))
    alike = replace(few, estimate=replace(few.estimate, instance_variance=np.zeros(2)))
    assert contribution(alike, 0, CHEAP).action is Action.INSTANCE
