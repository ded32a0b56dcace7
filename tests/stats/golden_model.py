"""What the model of slices computes, for races with every way in which instances can overlap.

    python -m tests.stats.golden_model > tests/stats/data/slice_model.json

The stored figures equalled those of dense algebra when the equations were first solved front by
front. They may change only with the model itself.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from deadheat.stats.model.slice_model import fit_slices
from deadheat.stats.model.slices import SliceArrays
from tests.stats.slice_races import NOISY, QUIET, Field, Schedule, race


def fits() -> dict[str, dict[str, Any]]:
    """Every array of each fit as lists."""
    made = {name: fit_slices(slices) for name, slices in races()}
    return {name: json.loads(json.dumps(asdict(fit), default=np.ndarray.tolist))
            for name, fit in made.items()}  # fmt: skip


def races() -> Iterator[tuple[str, SliceArrays]]:
    """Simulated ones; 108 to 162 instances are several fronts."""
    plain = race(np.random.default_rng(1), Field.copies(9, 0.03), Schedule(144, 18), NOISY)
    yield "all replaced together", plain
    part = (plain.round + plain.contender) // 12
    staggered = replace(plain, instance=plain.contender * 1000 + part)
    yield "replaced one by one", staggered
    forever = np.where(plain.contender == 0, 0, staggered.instance)
    yield "one never replaced", replace(plain, instance=forever)
    halves = (plain.block % 2 == 0) == (plain.contender < 5)
    yield "two heats that never met", plain.taken(halves)
    yield "two heats with a control", plain.taken(halves | (plain.contender == 2))
    field = Field.mixed([0.0, 0.1, 0.2, 0.3])
    yield (
        "some left early",
        race(np.random.default_rng(2), field, Schedule(48, (1, 3, 4, 6), (16, 24, 48, 48)), QUIET),
    )


if __name__ == "__main__":
    json.dump(fits(), sys.stdout)
