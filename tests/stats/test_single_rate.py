"""The rate of one contender."""

import math

import numpy as np

from deadheat.stats.ranking.pairs import REQUESTS_FOR_P99, half_width, is_known
from tests.stats.races import binomial_limit


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
