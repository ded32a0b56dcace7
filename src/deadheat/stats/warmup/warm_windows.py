"""The windows of a warm-up: requests, seconds, and how the rate drifts over the last of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np

from deadheat.stats.distributions import Floats, t_critical

BATCHES_MIN, BATCHES_MAX = 8, 16
ROUNDING_S = 1e-6  # 100 windows of 0.1 s make 10 s


@dataclass(frozen=True, slots=True)
class Windows:
    """Successive windows of load on one instance, oldest first; arrays of one length.

    `requests` counts right answers, `seconds` is the length. `compiler_busy_s` is the time that
    compiler threads ran or waited for a CPU. `control_rate` is the rate of a control measured near
    each window, by which the rate is divided.
    """

    requests: Floats
    seconds: Floats
    compiler_busy_s: Floats | None = None
    control_rate: Floats | None = None

    @classmethod
    def of(
        cls,
        requests: Sequence[float],
        seconds: Sequence[float] | float,
        compiler_busy_s: Sequence[float] | None = None,
        control_rate: Sequence[float] | None = None,
    ) -> Self:
        """Raises `ValueError` for lengths that differ, and for times and counts that cannot be."""
        counts = np.asarray(requests, dtype=float)
        lengths = np.broadcast_to(np.asarray(seconds, dtype=float), counts.shape)
        cpu = None if compiler_busy_s is None else np.asarray(compiler_busy_s, dtype=float)
        control = None if control_rate is None else np.asarray(control_rate, dtype=float)
        for values in (cpu, control):
            if values is not None and values.shape != counts.shape:
                raise ValueError(f"{len(values)} readings for {len(counts)} windows")
        if not (np.all(counts >= 0) and np.all(lengths > 0)):
            raise ValueError("a window has a length above 0 s and no fewer than 0 requests")
        if control is not None and not np.all(control > 0):
            raise ValueError("a control's rate is above 0")
        return cls(counts, lengths, cpu, control)

    def __len__(self) -> int:
        return len(self.requests)

    def last(self, duration_s: float) -> int:
        """The first of the windows that make up the last `duration_s`, or the last window."""
        ago_s = np.cumsum(self.seconds[::-1])[::-1]
        return int(np.argmax(ago_s <= max(duration_s, float(self.seconds[-1])) + ROUNDING_S))

    def compiler_busy_since(self, begin: int) -> float:
        """The mean number of the compiler's threads that ran or waited for a CPU from window
        `begin` on; 0 where its threads cannot be seen."""
        if self.compiler_busy_s is None:
            return 0.0
        return float(self.compiler_busy_s[begin:].sum() / self.seconds[begin:].sum())

    def rates(self) -> Floats:
        """Requests/s, corrected for what the control says about the machine."""
        rates = self.requests / self.seconds
        if self.control_rate is None:
            return rates
        return rates * (np.median(self.control_rate) / self.control_rate)

    @property
    def requests_in_all(self) -> float:
        return float(self.requests.sum())

    @property
    def seconds_in_all(self) -> float:
        return float(self.seconds.sum())

    def requests_before(self, begin: int) -> float:
        """Those served before a window."""
        return float(self.requests[:begin].sum())

    def first_after(self, requests: float) -> int:
        """The first window that begins at or after so many requests, or the last one."""
        before = np.cumsum(self.requests) - self.requests
        return min(int(np.searchsorted(before, requests)), len(self) - 1)

    def stretch(self, begin: int, confidence: float) -> "Stretch":
        """The windows from `begin` on."""
        return Stretch.of(self.rates(), begin, confidence)


@dataclass(frozen=True, slots=True)
class Stretch:
    """The last windows, from `begin` on: their mean rate, its lower bound, and their drift.

    `change` is the mean rate before it over that in it; 1 where there is none before. `drift_error`
    is the half-width of the drift's interval.
    """

    begin: int
    rate: float
    rate_low: float
    drift: float
    drift_error: float
    change: float

    @classmethod
    def of(cls, rates: Floats, begin: int, confidence: float) -> Self:
        tail = rates[begin:]
        windows = len(tail)
        rate = float(tail.mean()) if windows else math.nan
        if windows < BATCHES_MIN // 2 or rate == 0:
            return cls(begin, rate, -math.inf, math.nan, math.inf, math.nan)
        tail_sd = float(tail.std(ddof=1))
        low = rate - _t(confidence, windows - 1) * tail_sd / math.sqrt(windows)
        drift, error = batched_drift(tail, confidence)
        change = float(rates[:begin].mean()) / rate if begin else 1.0
        return cls(begin, rate, low, drift, error, change)

    def drifts(self, most: float) -> bool:
        """Whether a drift of more than `most` is shown, rather than not excluded."""
        return abs(self.drift) - self.drift_error > most

    def is_level(self, most: float) -> bool:
        """Whether a drift of more than `most` is excluded."""
        return abs(self.drift) + self.drift_error <= most


def batched_drift(rates: Floats, confidence: float) -> tuple[float, float]:
    """Fitted change over `rates` as a fraction of their mean, and its one-sided half-width.

    A line through the means of 8 to 16 batches of successive values, with Student's t for the
    error (batch means: Law and Carson 1979): noise that is correlated within a batch does not make
    the interval too short. (NaN, inf) for fewer than 8 values.
    """
    values = len(rates)
    if values < BATCHES_MIN:
        return math.nan, math.inf
    batches = min(BATCHES_MAX, max(BATCHES_MIN, values // 2))
    edges = np.linspace(0, values, batches + 1).round().astype(int)
    means = np.add.reduceat(rates, edges[:-1]) / np.diff(edges)
    place = np.arange(batches) - (batches - 1) / 2
    spread = float(place @ place)
    mean = float(means.mean())
    slope = float(place @ means) / spread
    residuals = means - mean - slope * place
    error = math.sqrt(float(residuals @ residuals) / (batches - 2) / spread)
    return slope * batches / mean, _t(confidence, batches - 2) * error * batches / mean


@lru_cache(maxsize=1024)
def _t(confidence: float, degrees: int) -> float:
    return float(t_critical(1 - confidence, degrees))
