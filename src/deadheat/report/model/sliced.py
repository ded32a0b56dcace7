"""`SlicedLevel`: a race in slices at one level, as one model of all slices."""

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from deadheat.inflate import parse
from deadheat.stats.model.contender_effects import EffectEstimate
from deadheat.stats.model.slice_model import ModelFit
from deadheat.stats.warmup.settling import Settling


@dataclass(frozen=True, slots=True)
class AllSlices:
    """What is worked out from every slice of the valid trials of one level.

    `names` are those that take part in the model (see `modeled_names`), in its order.
    `settlings` has the contender and the finding of each instance whose slices do not all count.
    `waits` maps a contender to its slices in which the client waited for its CPU, and to all of
    its slices. `ended_at_s` is the end of the last one, since the run's start.
    """

    names: tuple[str, ...]
    fit: ModelFit
    settlings: tuple[tuple[str, Settling], ...]
    waits: Mapping[str, tuple[int, int]]
    ended_at_s: float

    @property
    def excluded(self) -> dict[str, int]:
        """Contender -> how many of its slices do not count."""
        counts: dict[str, int] = {}
        for name, finding in self.settlings:
            counts[name] = counts.get(name, 0) + finding.excluded
        return counts

    def to_text(self) -> str:
        """As JSON, with every digit."""
        return json.dumps(dataclasses.asdict(self), default=lambda array: array.tolist())

    @classmethod
    def of_text(cls, text: str) -> Self:
        """What `to_text` wrote."""
        values = parse(text)
        fit = _arrays(values["fit"])
        fit["estimate"] = EffectEstimate(**_arrays(fit["estimate"]))
        return cls(
            names=tuple(values["names"]),
            fit=ModelFit(**fit),
            settlings=tuple((name, Settling(**finding)) for name, finding in values["settlings"]),
            waits={name: (waited, slices) for name, (waited, slices) in values["waits"].items()},
            ended_at_s=values["ended_at_s"],
        )


def _arrays(values: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as arrays."""
    return {
        name: np.array(value) if isinstance(value, list) else value
        for name, value in values.items()
    }


@dataclass(frozen=True, slots=True)
class SlicedLevel:
    """One level of a race in slices.

    `both` models the same workload over the first transport and over this one, if this is not the
    first. Its names are those of `slice_fit.over_transport`.
    """

    slices: AllSlices
    both: AllSlices | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.slices.names

    @property
    def fit(self) -> ModelFit:
        return self.slices.fit

    def rate_per_s(self, name: str) -> float | None:
        """The model's rate: all ratios between contenders follow from these."""
        if name not in self.names:
            return None
        rate = math.exp(float(self.fit.estimate.log_rate[self.names.index(name)]))
        return rate if math.isfinite(rate) else None
