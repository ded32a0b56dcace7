"""Variances that learn from each other, and their degrees of freedom."""

import numpy as np
import pytest

from deadheat.stats.model.variances import learn_variances


def test_alike_contenders_lend_each_other_degrees() -> None:
    degrees = np.full(12, 3.0)
    variances = np.random.default_rng(1).chisquare(3, 12) / 3
    learned, known = learn_variances(variances, degrees)
    assert np.all(known > 4)
    assert np.std(np.log(learned)) < np.std(np.log(variances))


def test_unlike_contenders_lend_less() -> None:
    degrees = np.full(12, 3.0)
    draws = np.random.default_rng(1).chisquare(3, 12) / 3
    alike = learn_variances(draws, degrees)[1]
    unlike = learn_variances(draws * np.geomspace(0.01, 100, 12), degrees)[1]
    assert np.median(unlike) < np.median(alike)


def test_no_contender_is_lent_the_calm_of_the_others() -> None:
    variances = np.array([1.0, 1.2, 0.8, 1.1, 50.0])
    learned, _ = learn_variances(variances, np.full(5, 4.0))
    assert np.all(learned >= variances)
    assert learned[4] == pytest.approx(50)


def test_one_contender_alone_keeps_about_its_own_degrees() -> None:
    _, degrees = learn_variances(np.array([2.0]), np.array([8.0]))
    assert degrees[0] == pytest.approx(8, rel=0.2)


def test_many_degrees_need_no_help() -> None:
    learned, degrees = learn_variances(np.array([1.0, 4.0]), np.array([50.0, 50.0]))
    assert learned == pytest.approx([1, 4], rel=0.1)
    assert np.all(np.abs(degrees - 50) < 10)


def test_a_contender_without_degrees_gets_what_the_others_suggest() -> None:
    variances = np.array([1.0, 1.0, 1.0, np.nan])
    learned, degrees = learn_variances(variances, np.array([5.0, 5.0, 5.0, 0.0]))
    assert 0.1 < learned[3] < 10
    assert degrees[3] < degrees[0]


def test_the_unit_does_not_matter() -> None:
    variances, degrees = np.array([1.0, 2.0, 5.0]), np.array([3.0, 4.0, 5.0])
    learned, learned_degrees = learn_variances(variances, degrees)
    other, other_degrees = learn_variances(variances * 1e-6, degrees)
    assert other == pytest.approx(learned * 1e-6)
    assert other_degrees == pytest.approx(learned_degrees)


def test_nothing_known_is_nothing_learned() -> None:
    learned, degrees = learn_variances(np.array([np.nan, np.nan]), np.zeros(2))
    assert np.isnan(learned).all()
    assert np.isnan(degrees).all()
