"""The slices of a race, as the model reads them."""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats

Indices = npt.NDArray[np.int64]


ARRAYS = (
    "log_rate",
    "contender",
    "instance",
    "block",
    "round",
    "time_s",
    "weight",
    "witness",
)


@dataclass(frozen=True)
class SliceArrays:
    """Valid slices of one race in one array each, in any order; all of the same length.

    `log_rate` is the natural logarithm of requests per second, `contender` an index below
    `contenders`, `instance` an index that no two contenders share, `block` and `round` those of
    the race (a round belongs to one block), `time_s` when the slice began, on one clock.
    `weight` is the requests of a slice over the length of its window, above 0; left out, slices
    weigh alike.
    `witness` is the log of its instance's rate without slices; NaN, or left out, if unknown.
    `silent` has a share for each contender: of its windows' time in which nothing was sent.
    `paused` likewise: of its time in pauses.
    ValueError where the arrays do not fit together.
    """

    log_rate: Floats
    contender: Indices
    instance: Indices
    block: Indices
    round: Indices
    time_s: Floats
    contenders: int
    weight: Floats = field(default_factory=lambda: np.zeros(0))
    witness: Floats = field(default_factory=lambda: np.zeros(0))
    silent: Floats = field(default_factory=lambda: np.zeros(0))
    paused: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if not len(self.weight):
            object.__setattr__(self, "weight", np.ones(len(self.log_rate)))
        for name in ("silent", "paused"):
            if not len(getattr(self, name)):
                object.__setattr__(self, name, np.zeros(self.contenders))
        if not len(self.witness):
            object.__setattr__(self, "witness", np.full(len(self.log_rate), np.nan))
        for name in ARRAYS:
            if (
                np.shape(getattr(self, name)) != np.shape(self.log_rate)
                or np.ndim(self.log_rate) != 1
            ):
                raise ValueError(f"{name} has another shape than log_rate, or more than one axis")
        if not np.all(np.isfinite(self.log_rate)) or not np.all(np.isfinite(self.time_s)):
            raise ValueError("log_rate and time_s are finite: leave out slices that do not count")
        if not np.all(np.isfinite(self.weight) & (self.weight > 0)):
            raise ValueError("weight is above 0: a slice without requests is left out")
        if not len(self.log_rate):
            return
        if self.contender.min() < 0 or self.contender.max() >= self.contenders:
            raise ValueError(f"contender is an index from 0 to {self.contenders - 1}")
        if self.instance.min() < 0:
            raise ValueError("instance is an index from 0")
        owner = np.full(int(self.instance.max()) + 1, -1)
        owner[self.instance] = self.contender
        if np.any(owner[self.instance] != self.contender):
            raise ValueError("an instance belongs to one contender")

    def __len__(self) -> int:
        return len(self.log_rate)

    def with_log_rates(self, log_rate: Floats) -> "SliceArrays":
        """The same slices with other rates."""
        return replace(self, log_rate=log_rate)

    def taken(self, chosen: npt.NDArray[np.bool_]) -> "SliceArrays":
        """The slices that `chosen` marks."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in ARRAYS})
