"""Latency distributions of the load engine: HdrHistograms, merged over trials."""

import base64
import struct
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from hdrh.codec import decode
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray

from deadheat.inflate import inflate

LOWEST_US = 1
HIGHEST_US = 3_600_000_000
DIGITS = 3

# https://github.com/HdrHistogram/HdrHistogram_py documents the format: an outer header, and the
# payload that it announces. Fields are big-endian.
OUTER = struct.Struct(">II")  # cookie, length of the deflated payload
INNER = struct.Struct(">IIIIQQd")  # cookie, length, offset, digits, lowest, highest, conversion
COOKIE_MASK = 0xFFFFFF0F
PLAIN, DEFLATED = 0x1C849303, 0x1C849304
VARINT_BYTES_MAX = 9  # of one count


@dataclass(frozen=True)
class Latency:
    """A distribution of durations, 1 us to 1 h with three digits.

    Do not modify the histogram: `merge` makes a new one.
    """

    histogram: HdrHistogram

    @property
    def count(self) -> int:
        return int(self.histogram.total_count)

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of values in each of HdrHistogram's buckets; a view, not a copy."""
        return np.ctypeslib.as_array(self.histogram.encoder.payload.counts)

    @property
    def mean_us(self) -> float:
        """HdrHistogram's mean: each value counts as the middle of its bucket; 0 without values.

        Buckets come in groups of `sub_bucket_half_count`. From the third group on, buckets are
        twice as wide as in the group before. This is faster than HdrHistogram's own mean,
        which visits the buckets one by one.
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

    def quantile_us(self, q: float, beyond: float = 100) -> int | None:
        """The q-quantile in microseconds; None for fewer than `beyond` / (1 - q) values.

        Raises ValueError for q outside 0 <= q < 1.
        """
        if not 0 <= q < 1:
            raise ValueError(f"quantile {q}: expected at least 0 and below 1")
        if self.count < values_needed(q, beyond):
            return None
        rank = max(int(q * self.count + 0.5), 1)
        index = int(np.searchsorted(np.cumsum(self.counts), rank))
        lowest_us = self.histogram.get_value_from_index(index)
        return int(self.histogram.get_highest_equivalent_value(lowest_us))


def values_needed(q: float, beyond: float = 100) -> float:
    """The number of values that a q-quantile needs: so many beyond it."""
    return (beyond - 1e-6) / (1 - q)


def merge(encoded: Iterable[str]) -> Latency:
    """The distribution over all trials in `encoded`: HdrHistogram V2, deflated, in base64.

    No trials give an empty distribution. Raises ValueError for text that is not such a histogram,
    has another lowest value or precision than ours, or has a value above `HIGHEST_US`. A lower
    highest value makes no difference: the engine's histograms grow with what they hold, and buckets
    stay the same.
    """
    total = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    counts = np.ctypeslib.as_array(total.encoder.payload.counts)
    scratch = np.zeros_like(counts)
    lowest, highest = len(counts), -1  # indices of the counts that are not 0
    for text in encoded:
        first, last, values = _decode(text, scratch)
        if last >= 0:
            filled = scratch[first : last + 1]
            counts[first : last + 1] += filled
            filled[:] = 0
            total.total_count += values
            lowest, highest = min(lowest, first), max(highest, last)
    if highest >= 0:
        total.set_internal_tacking_values(lowest, highest, total.total_count)
    return Latency(total)


def _decode(text: str, counts: NDArray[np.uint64]) -> tuple[int, int, int]:
    """Add the counts; returns the first and last index that are not 0, and the number of values.

    The last index is below 0 for a histogram without values. HdrHistogram's own reader allocates
    what the text asks for, and takes seconds to add ranges other than ours.
    """
    try:
        packed = base64.b64decode(text)
        cookie, length = OUTER.unpack_from(packed)
        if cookie & COOKIE_MASK != DEFLATED or length != len(packed) - OUTER.size:
            raise ValueError("its header is not that of one")
        payload = inflate(packed[OUTER.size :], INNER.size + VARINT_BYTES_MAX * len(counts))
        cookie, _, _, digits, lowest, *_ = INNER.unpack_from(payload)
        if cookie & COOKIE_MASK != PLAIN or (lowest, digits) != (LOWEST_US, DIGITS):
            raise ValueError("its lowest value or its precision is not ours")
        decoded = decode(payload, INNER.size, counts.ctypes.data, len(counts), counts.itemsize)
    except (ValueError, IndexError, MemoryError, struct.error) as error:
        shown = text if len(text) <= 20 else f"{text[:20]}..."
        raise ValueError(f"not an HdrHistogram V2 in base64: {shown!r}: {error}") from error
    return decoded["min_nonzero_index"], decoded["max_nonzero_index"], decoded["total"]
