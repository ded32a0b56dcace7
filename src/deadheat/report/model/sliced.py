"""`SlicedLevel`: a race in slices at one level, as one model of all slices."""

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from deadheat.inflate import parse
from deadheat.report.model.series import SHAPE, Finite
from deadheat.stats.contender_effects import Estimate
from deadheat.stats.settling import Settling
from deadheat.stats.slice_model import ModelFit


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the hypervisor had put the CPUs, in a share of the slices."""

    __pydantic_config__ = SHAPE

    core_to_core_ns: Finite
    """How long a cache line took from a server's CPU to a load CPU: the median."""
    share: Finite
    """Of all slices. What the shares lack to 1 are slices during which the CPUs moved."""
    share_in_rates: Finite
    """Its share while most contenders raced: rates and ratios are for this mix."""
    rate_ratios: dict[str, Finite]
    """The median rate of each contender's slices in this placement over that in the first one, of
    those with enough slices in both."""


@dataclass(frozen=True, slots=True)
class AllSlices:
    """What is worked out from every slice of the valid trials of one level.

    `names` are those that take part in the model (see `modeled_names`), in its order.
    `settlings` has the contender and the finding of each instance whose slices do not all count.
    `waits` maps a contender to its slices in which the client waited for its CPU, and to all of
    its slices. `ended_at_s` is the end of the last one, since the run's start. `placements` are
    those of the CPUs, the most frequent first; empty where no core-to-core latency was read.
    `memory_ns` is the memory latency, its 5th and 95th percentile over the slices.
    """

    names: tuple[str, ...]
    fit: ModelFit
    settlings: tuple[tuple[str, Settling], ...]
    waits: Mapping[str, tuple[int, int]]
    ended_at_s: float
    placements: tuple[Placement, ...]
    memory_ns: tuple[float, float] | None

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
        fit["estimate"] = Estimate(**_arrays(fit["estimate"]))
        return cls(
            names=tuple(values["names"]),
            fit=ModelFit(**fit),
            settlings=tuple((name, Settling(**finding)) for name, finding in values["settlings"]),
            waits={name: (waited, slices) for name, (waited, slices) in values["waits"].items()},
            ended_at_s=values["ended_at_s"],
            placements=tuple(Placement(**placement) for placement in values["placements"]),
            memory_ns=tuple(values["memory_ns"]) if values["memory_ns"] else None,
        )


def _arrays(values: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as arrays."""
    return {
        name: np.array(value) if isinstance(value, list) else value
        for name, value in values.items()
    }


@dataclass(frozen=True, slots=True)
class SlicedLevel:
    """One level of a race in slices."""

    slices: AllSlices

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
