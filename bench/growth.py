"""Does a figure of a long run grow? Its slope per hour, with the rule that judges it."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from deadheat.stats.distributions import t_critical

BATCHES = 12
BATCHES_MIN = 4
CONFIDENCE = 0.95
GROWTH_PER_H_MAX = 0.05  # of the median
COUNTS_MORE_MAX = 2  # descriptors or threads: the last quarter's median over the first's
RULE = (
    f"PASS: memory grows by less than {GROWTH_PER_H_MAX:.0%} of its median an hour (the upper end "
    f"of the {CONFIDENCE:.0%} interval), and the medians of descriptors and of threads in the last "
    f"quarter are at most {COUNTS_MORE_MAX} above those of the first."
)


@dataclass(frozen=True, slots=True)
class Growth:
    """How a figure changed. The slope is per hour; its interval is None for too few samples."""

    first: float
    last: float
    highest: float
    median: float
    per_h: float | None
    low_per_h: float | None
    high_per_h: float | None

    @property
    def is_flat(self) -> bool:
        """Whether even the upper end of the interval is below `GROWTH_PER_H_MAX`."""
        return self.high_per_h is not None and self.high_per_h < GROWTH_PER_H_MAX * self.median


def growth(at_s: Sequence[float], values: Sequence[float]) -> Growth:
    """The straight line through the means of successive batches of samples.

    Successive samples depend on each other, and batches hardly do, so the interval is that of
    ordinary least squares over `BATCHES` means (Student's t). Raises ValueError without samples.
    """
    if not values or len(at_s) != len(values):
        raise ValueError(
            f"{len(at_s)} times and {len(values)} values: expected as many, at least 1"
        )
    per_h, low_per_h, high_per_h = _slope(at_s, values) or (None, None, None)
    return Growth(
        first=values[0],
        last=values[-1],
        highest=max(values),
        median=median(values),
        per_h=per_h,
        low_per_h=low_per_h,
        high_per_h=high_per_h,
    )


def _slope(at_s: Sequence[float], values: Sequence[float]) -> tuple[float, float, float] | None:
    """The slope per hour and its interval; None for too few samples."""
    batches = min(BATCHES, len(values))
    if batches < BATCHES_MIN:
        return None
    hours = np.array([part.mean() for part in np.array_split(np.array(at_s) / 3600, batches)])
    means = np.array([part.mean() for part in np.array_split(np.array(values, float), batches)])
    apart = hours - hours.mean()
    spread = float(apart @ apart)
    if spread == 0:
        return None
    slope = float(apart @ means) / spread
    residuals = means - means.mean() - slope * apart
    error = float(np.sqrt(residuals @ residuals / (batches - 2) / spread))
    margin = error * float(t_critical((1 - CONFIDENCE) / 2, batches - 2))
    return slope, slope - margin, slope + margin


def counts_are_flat(counts: Sequence[int]) -> bool:
    """Whether the last quarter has about as many descriptors or threads as the first."""
    quarter = max(1, len(counts) // 4)
    return median(counts[-quarter:]) <= median(counts[:quarter]) + COUNTS_MORE_MAX
