"""Instances: block elimination over fronts, and variances that learn from each other."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import polygamma

from deadheat.stats.model.instance_matrix import InstanceMatrix, fronts
from deadheat.stats.model.variances import inverse_trigamma, learn_variances, moderate
from tests.stats import golden_model

GOLDEN = Path(__file__).parent / "data" / "slice_model.json"


def chain(generator: np.random.Generator) -> tuple[InstanceMatrix, np.ndarray]:
    """300 instances of which each lasts for a while, and two for all 80 segments."""
    instances = np.full((80, 12), -1)
    for segment in range(80):
        alive = np.unique((segment * 3.7).__floor__() + np.arange(10)) % 298
        instances[segment, : len(alive)] = alive
        instances[segment, 10:] = 298, 299
    _, numbered = np.unique(instances, return_inverse=True)
    instances = numbered.reshape(instances.shape) - int((instances < 0).any())
    halves = generator.standard_normal((80, 12, 12))
    parts = np.where((instances < 0)[:, :, None], 0.0, halves)
    parts = parts @ parts.transpose(0, 2, 1)
    dense = np.zeros((instances.max() + 1,) * 2)
    for own, part in zip(instances, parts, strict=True):
        seen = own >= 0
        dense[np.ix_(own[seen], own[seen])] += part[np.ix_(seen, seen)]
    return InstanceMatrix.of(tuple(fronts(instances)), parts), dense


def test_a_matrix_of_fronts_is_the_dense_matrix() -> None:
    matrix, dense = chain(np.random.default_rng(1))
    assert len(matrix.fronts) > 2
    assert matrix.size == len(dense)
    assert matrix @ np.eye(matrix.size) == pytest.approx(dense)
    assert matrix.diagonal == pytest.approx(np.diag(dense))


def test_solves_as_dense_algebra_does() -> None:
    generator = np.random.default_rng(2)
    matrix, dense = chain(generator)
    scale = generator.uniform(0, 2, matrix.size)
    scale[::7] = 0.0
    full = dense * scale * scale[:, None] + 0.5 * np.eye(matrix.size)
    right = generator.standard_normal((matrix.size, 3))
    factors = matrix.factors(scale, 0.5)
    assert factors.solve(right) == pytest.approx(np.linalg.solve(full, right), rel=1e-9)
    assert factors.solve(right[:, 0]) == pytest.approx(factors.solve(right)[:, 0])
    assert factors.trace_of_product() == pytest.approx(np.trace(np.linalg.solve(full, dense)))


def test_no_front_holds_all_instances_of_a_race_that_replaces_them() -> None:
    matrix, _ = chain(np.random.default_rng(3))
    assert max(len(front.members) for front in matrix.fronts) < matrix.size / 2


def test_the_model_computes_what_dense_algebra_did() -> None:
    expected = json.loads(GOLDEN.read_text(encoding="utf-8"))
    actual = golden_model.fits()
    assert actual.keys() == expected.keys()
    for name, fit in actual.items():
        assert_near(fit, expected[name], name)


def assert_near(actual: dict[str, Any], expected: dict[str, Any], where: str) -> None:
    assert actual.keys() == expected.keys()
    for key, value in actual.items():
        if isinstance(value, dict):
            assert_near(value, expected[key], f"{where}, {key}")
        else:
            near = np.allclose(value, expected[key], rtol=1e-9, atol=1e-11, equal_nan=True)
            assert near, (where, key)


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


CONTENDERS = 8
DEGREES = 6


def observed(true: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sample variances [contender, contender] with `DEGREES` degrees of freedom."""
    chi2 = np.random.default_rng(seed).chisquare(DEGREES, true.shape) / DEGREES
    variances = np.triu(true * chi2, k=1)
    return variances + variances.T, np.full(true.shape, float(DEGREES))


@pytest.mark.parametrize("x", [0.1, 1.0, 3.7, 250.0])
def test_inverse_trigamma_inverts_trigamma(x: float) -> None:
    assert inverse_trigamma(float(polygamma(1, x))) == pytest.approx(x, rel=1e-6)


def test_equal_variances_give_a_strong_prior() -> None:
    priors = [moderate(*observed(np.ones((8, 8)), seed), most=42)[1] for seed in range(30)]
    assert np.median(priors) > 2 * DEGREES


def test_different_variances_give_a_weak_prior() -> None:
    spread = np.exp(np.random.default_rng(1).normal(0, 2, (CONTENDERS, CONTENDERS)))
    priors = [moderate(*observed(spread, seed), most=42)[1] for seed in range(30)]
    assert np.median(priors) < DEGREES


def test_prior_is_bounded() -> None:
    same = np.ones((CONTENDERS, CONTENDERS))
    assert moderate(same, np.full(same.shape, 6.0), most=42)[1] == 42


def test_only_small_variances_are_moderated() -> None:
    variances, degrees = observed(np.ones((CONTENDERS, CONTENDERS)), 3)
    moderated, prior = moderate(variances, degrees, most=42)
    assert prior > 0
    assert np.all(moderated >= variances)
    upper = np.triu_indices(CONTENDERS, k=1)
    calmest = np.argmin(variances[upper])
    assert moderated[upper][calmest] > variances[upper][calmest]


def test_too_few_variances_stay_unchanged() -> None:
    variances = np.array([2.0, 1.0, 3.0])
    moderated, prior = moderate(variances, np.full(3, 4.0), most=10)
    assert prior == 0
    assert moderated is variances
