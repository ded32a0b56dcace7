"""Latency distributions of the load engine: HdrHistogram, merged over trials."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

LOWEST_US = 1
HIGHEST_US = 3_600_000_000
DIGITS = 3


@dataclass(frozen=True)
class Latency:
    """A distribution of durations, 1 us to 1 h with three digits.

    Immutable by use: `merge` makes a new one.
    """

    histogram: HdrHistogram

    @property
    def count(self) -> int:
        return int(self.histogram.total_count)

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many values each of HdrHistogram's buckets holds; a view, not a copy."""
        return np.ctypeslib.as_array(self.histogram.encoder.payload.counts)

    @property
    def mean_us(self) -> float:
        """As HdrHistogram has it: each value counts as its bucket's middle; 0 for no values.

        Buckets come in halves of `sub_bucket_half_count`, each twice as wide as the half before,
        but for the first two. HdrHistogram's own mean walks them all, one by one.
        """
        filled = np.flatnonzero(self.counts)
        half = self.histogram.sub_bucket_half_count
        doublings = np.maximum(filled // half - 1, 0)
        lowest_us = (filled - doublings * half) << doublings
        middle_us = lowest_us + ((1 << doublings) >> 1)
        return int(np.dot(middle_us, self.counts[filled])) / max(self.count, 1)

    @property
    def max_us(self) -> int:
        """The highest value, to three digits; 0 for no values."""
        return int(self.histogram.get_max_value())

    @property
    def encoded(self) -> str:
        """As HdrHistogram V2, deflated, in base64: what `merge` reads."""
        return str(self.histogram.encode().decode())

    def quantile_us(self, q: float) -> int | None:
        """The q-quantile in microseconds; None below 100 / (1 - q) values, too few to tell.

        ValueError for q outside 0 <= q < 1.
        """
        if not 0 <= q < 1:
            raise ValueError(f"quantile {q} is not at least 0 and below 1")
        if self.count < values_needed(q):
            return None
        rank = max(int(q * self.count + 0.5), 1)
        index = int(np.searchsorted(np.cumsum(self.counts), rank))
        lowest_us = self.histogram.get_value_from_index(index)
        return int(self.histogram.get_highest_equivalent_value(lowest_us))


def values_needed(q: float) -> float:
    """How many values a q-quantile takes: 100 beyond it."""
    return (100 - 1e-6) / (1 - q)


def merge(encoded: Iterable[str]) -> Latency:
    """The distribution of all trials of `encoded`: HdrHistogram V2, deflated, in base64.

    ValueError for text that is not such a histogram; an empty distribution for no trials.
    """
    total = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    for text in encoded:
        total.add(_decode(text))
    return Latency(total)


def _decode(text: str) -> HdrHistogram:
    try:
        return HdrHistogram.decode(text.encode())
    except Exception as error:
        shown = text if len(text) <= 20 else f"{text[:20]}..."
        raise ValueError(f"not an HdrHistogram V2 in base64: {shown!r}") from error
