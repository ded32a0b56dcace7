"""When a fresh server is warm: the rule, and what a look at the windows of its warm-up says."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
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
    compiler threads ran or waited for a CPU.
    """

    requests: Floats
    seconds: Floats
    compiler_busy_s: Floats | None = None

    @classmethod
    def of(
        cls,
        requests: Sequence[float],
        seconds: Sequence[float] | float,
        compiler_busy_s: Sequence[float] | None = None,
    ) -> Self:
        """Raises `ValueError` for lengths that differ, and for times and counts that cannot be."""
        counts = np.asarray(requests, dtype=float)
        lengths = np.broadcast_to(np.asarray(seconds, dtype=float), counts.shape)
        cpu = None if compiler_busy_s is None else np.asarray(compiler_busy_s, dtype=float)
        if cpu is not None and cpu.shape != counts.shape:
            raise ValueError(f"{len(cpu)} readings for {len(counts)} windows")
        if not (np.all(counts >= 0) and np.all(lengths > 0)):
            raise ValueError("a window has a length above 0 s and no fewer than 0 requests")
        return cls(counts, lengths, cpu)

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
        """Requests/s."""
        return self.requests / self.seconds

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


RATE_QUANTILE = 0.75  # of earlier instances, that a later one has to reach


class Compiler(StrEnum):
    """How the runtime compiles while it serves. What that means for the first instance is in
    `FIRST_FLOOR_REQUESTS` and `BUDGET_S`."""

    NONE = "none"  # Go, Rust, C, CPython, Ruby, PHP: compiled before, or not at all
    JIT = "jit"  # Node.js, Deno, Bun
    TIERED = "tiered"  # the JVM, .NET, PyPy: or `slow_start`, or compiler threads seen


# Top compiler tiers were reached after 50,000 to 230,000 requests (JVM) and 2,000 to 65,000
# (Node.js) in the stored runs; a level in front of the last tier held for less than the floor.
FIRST_FLOOR_REQUESTS = {Compiler.NONE: 0, Compiler.JIT: 75_000, Compiler.TIERED: 100_000}
FLOOR_REQUESTS = {Compiler.NONE: 0, Compiler.JIT: 0, Compiler.TIERED: 100_000}
# A level in front of the last tier ends before the floor, so the drift has to exclude only large
# changes. Chosen by replaying stored curves: bench/warm_up.py.
DRIFT_MAX = {Compiler.NONE: 0.30, Compiler.JIT: 0.30, Compiler.TIERED: 0.25}
BUDGET_S = {Compiler.NONE: 10.0, Compiler.JIT: 20.0, Compiler.TIERED: 30.0}


class WarmVerdict(StrEnum):
    GO_ON = "go on"
    STEADY = "steady"
    UNSTEADY = "unsteady"  # the budget is spent


@dataclass(frozen=True, slots=True)
class Rule:
    """When a server is warm.

    An instance is warm when its drift over the last two work-doublings (from a quarter of its
    requests to all of them) lies within +-`drift_max` of its rate, at one-sided `confidence` on
    either side, and is not shown to be more than `clear_drift_max`. Before `floor_requests` nothing
    is warm (`first_floor_requests` where no instance of the contender came before). After half of
    `budget_s` the floor no longer counts: a server too slow for it is judged by its drift alone.

    Where the compiler's threads can be seen, an instance is also warm when they were idle, on
    average, while its requests grew by `quiet_growth` and for at least `quiet_s`, and no drift of
    more than `quiet_drift_max` is shown since. A noisy machine does not delay this evidence.

    An instance with predecessors is also warm when it has served `safety` times the requests that
    the slowest of them needed, without a clear drift since then, and its rate since then is shown
    to be at most `shortfall_max` below theirs (`Earlier`). The rate need not be shown after
    `first_floor_requests`, unless the compiler is `tiered`: then a level in front of the last tier
    could be taken for the last one.

    At the end of `budget_s`, noise may still leave the drift uncertain. An instance that has served
    `ample` times `first_floor_requests` is warm then, with a caution, if no drift is shown.
    """

    tiered: bool = True
    floor_requests: float = 0
    first_floor_requests: float = 0
    budget_s: float = BUDGET_S[Compiler.NONE]
    drift_max: float = 0.15
    clear_drift_max: float = 0.10
    shortfall_max: float = 0.05
    safety: float = 1.25
    ample: float = 5.0
    confidence: float = 0.95
    windows_min: int = 10
    compiler_busy_max: float = 0.10
    quiet_growth: float = 1.25
    quiet_s: float = 1.0
    quiet_drift_max: float = 0.05

    @classmethod
    def of(cls, compiler: Compiler, floor_requests: float | None = None) -> Self:
        """The rule for a kind of runtime; a manifest may state another floor."""
        return cls(
            tiered=compiler is Compiler.TIERED,
            floor_requests=FLOOR_REQUESTS[compiler] if floor_requests is None else floor_requests,
            first_floor_requests=(
                FIRST_FLOOR_REQUESTS[compiler] if floor_requests is None else floor_requests
            ),
            budget_s=BUDGET_S[compiler],
            drift_max=DRIFT_MAX[compiler],
        )

    def floors(self, earlier: "Earlier | None") -> tuple[float, float]:
        """Requests before which nothing is warm, and before which only the rate of earlier
        instances shows that it is."""
        if earlier is None:
            return self.first_floor_requests, self.first_floor_requests
        floor = max(self.floor_requests, self.safety * earlier.requests_needed)
        return floor, max(self.first_floor_requests, floor)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the windows say so far.

    `requests` and `seconds` were spent. When steady: `start` is the first window of the steady
    stretch, `requests_needed` what came before it, `rate_per_s` the rate since. `drift` and
    `drift_error` are the fitted change over the stretch and the half-width of its interval, as
    fractions of the rate (NaN: too few windows). `kind` compares the rate with that before the
    stretch: flat, warm-up (it rose), slowdown (it fell), none (not steady).
    `caution` says what noise may hide, `pauses` whether the server paused.
    """

    verdict: WarmVerdict
    reason: str
    requests: float
    seconds: float
    kind: str = "none"
    start: int | None = None
    requests_needed: float = math.nan
    rate_per_s: float = math.nan
    drift: float = math.nan
    drift_error: float = math.nan
    caution: str | None = None
    pauses: bool = False

    @property
    def steady(self) -> bool:
        return self.verdict is WarmVerdict.STEADY


@dataclass(frozen=True, slots=True)
class Earlier:
    """What the contender's earlier instances showed: the slowest to warm, the rate once warm, and
    whether one paused.

    The rate is the upper quartile: the fastest of up to four instances, since one of them may have
    been stopped in front of its last compiler tier; of more, one that does not grow with their
    number.
    """

    requests_needed: float
    rate_per_s: float
    pauses: bool = False

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> Self | None:
        """None where no reading is steady."""
        steady = [reading for reading in readings if reading.steady]
        if not steady:
            return None
        rates = [reading.rate_per_s for reading in steady]
        return cls(
            max(reading.requests_needed for reading in steady),
            float(np.quantile(rates, RATE_QUANTILE, method="higher")),
            any(reading.pauses for reading in steady),
        )
