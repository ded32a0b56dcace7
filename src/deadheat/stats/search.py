"""The highest offered rate that holds an objective, one trial at a time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Observation:
    """One open-loop trial: the offered rate, and whether the objective held without errors."""

    rate: float
    held: bool


@dataclass(frozen=True)
class Step:
    """What is known, and what to try next.

    The capacity lies between `low` (highest rate that held; 0 if none did) and `high`
    (lowest that did not; infinite if none failed). `next_rate` is None when that is settled.
    """

    low: float
    high: float
    next_rate: float | None


def next_step(
    observations: Sequence[Observation],
    first_rate: float,
    lowest_rate: float,
    *,
    precision: float = 0.02,
    growth: float = 1.5,
) -> Step:
    """The next rate to offer, given all `observations` so far, in any order.

    Grow (or shrink) by `growth` until one rate holds and another fails, then bisect the gap
    on logs until it is within `precision`; give up below `lowest_rate`. A rate fails only
    when it failed in the majority of its trials, and a first failure is always tried once
    more: one stall of a noisy machine is not a limit.
    """
    if not 0 < lowest_rate <= first_rate or growth <= 1 or precision <= 0:
        raise ValueError("needs 0 < lowest_rate <= first_rate, growth > 1 and precision > 0")
    if not observations:
        return Step(0.0, math.inf, first_rate)
    tally: dict[float, tuple[int, int]] = {}
    for seen in observations:
        held, failed = tally.get(seen.rate, (0, 0))
        tally[seen.rate] = (held + seen.held, failed + (not seen.held))
    high = min((rate for rate, (held, failed) in tally.items() if failed > held), default=math.inf)
    low = max(
        (rate for rate, (held, failed) in tally.items() if held > failed and rate < high),
        default=0.0,
    )
    doubtful = [
        rate
        for rate, (held, failed) in tally.items()
        if low < rate <= high and (held == failed or (failed == 1 and held == 0))
    ]
    return Step(
        low, high, min(doubtful) if doubtful else _probe(low, high, lowest_rate, precision, growth)
    )


def _probe(
    low: float, high: float, lowest_rate: float, precision: float, growth: float
) -> float | None:
    if math.isinf(high):
        return low * growth
    if low == 0:
        return max(high / growth, lowest_rate) if high > lowest_rate else None
    return math.sqrt(low * high) if high / low > 1 + precision else None
