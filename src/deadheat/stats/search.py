"""Search for the highest offered rate at which an objective holds, one trial at a time."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Observation:
    """One open-loop trial: the offered rate, and whether the objective held."""

    rate: float
    held: bool


@dataclass(frozen=True)
class SearchStep:
    """The bounds of the capacity so far, and the next rate to try.

    The capacity lies between `low` (highest rate that held; 0 if none did) and `high`
    (lowest rate that failed; infinite if none did). `next_rate` is None once the search is over.
    """

    low: float
    high: float
    next_rate: float | None


@dataclass(frozen=True)
class Bounds:
    """Range of the search: start at `first_rate`, stay in range, end within `precision`."""

    first_rate: float
    lowest_rate: float
    highest_rate: float = math.inf
    precision: float = 0.02
    growth: float = 1.5

    def __post_init__(self) -> None:
        if not 0 < self.lowest_rate <= self.first_rate <= self.highest_rate:
            raise ValueError(f"{self}: expected 0 < lowest <= first <= highest")
        if self.growth <= 1 or self.precision <= 0:
            raise ValueError(f"{self}: expected growth above 1 and precision above 0")


def next_step(observations: Sequence[Observation], bounds: Bounds) -> SearchStep:
    """The next rate to offer, given all `observations` so far, in any order.

    Grow (or shrink) until one rate holds and another fails, then bisect the gap on logs. A
    rate fails if it failed in most of its trials, and a first failure is always tried once
    more: one stall of a noisy machine is not a limit.
    """
    held, failed = (
        Counter(trial.rate for trial in observations if trial.held is outcome)
        for outcome in (True, False)
    )
    rates = held.keys() | failed.keys()
    high = min((rate for rate in rates if failed[rate] > held[rate]), default=math.inf)
    low = max((rate for rate in rates if held[rate] > failed[rate] and rate < high), default=0.0)
    unconfirmed = [
        rate
        for rate in rates
        if low < rate <= high and (held[rate], failed[rate]) in ((0, 1), (1, 1))
    ]
    if unconfirmed:
        return SearchStep(low, high, min(unconfirmed))
    return SearchStep(low, high, _probe(low, high, bounds))


def _probe(low: float, high: float, bounds: Bounds) -> float | None:
    if low == 0 and math.isinf(high):
        return bounds.first_rate
    if math.isinf(high):
        return min(low * bounds.growth, bounds.highest_rate) if low < bounds.highest_rate else None
    if low == 0:
        return max(high / bounds.growth, bounds.lowest_rate) if high > bounds.lowest_rate else None
    return math.sqrt(low * high) if high / low > 1 + bounds.precision else None
