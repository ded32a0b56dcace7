"""Block elimination over fronts: against dense linear algebra, and the model against its past."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deadheat.stats.model.instance_matrix import InstanceMatrix, fronts
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
