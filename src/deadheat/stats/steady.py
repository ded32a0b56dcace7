"""Is a fresh server warm yet? Decided in requests, and only when the data are clear."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Self

import numpy as np

from deadheat.stats.distributions import Floats, t_critical

BATCHES_MIN, BATCHES_MAX = 8, 16
RATE_QUANTILE = 0.75  # of earlier instances, that a later one has to reach
_COMPILER_LOOK_S = 0.5
_KIND_TOLERANCE = 0.05
_ROUNDING_S = 1e-6  # 100 windows of 0.1 s make 10 s


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
# The floor, not the drift, tells a level in front of the last tier from the last one; so the drift
# need only be roughly level. Chosen by replaying stored curves: bench/warm_up.py.
DRIFT_MAX = {Compiler.NONE: 0.30, Compiler.JIT: 0.30, Compiler.TIERED: 0.25}
BUDGET_S = {Compiler.NONE: 10.0, Compiler.JIT: 20.0, Compiler.TIERED: 30.0}


class Verdict(StrEnum):
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

    An instance with predecessors is also warm when it has served `safety` times the requests that
    the slowest of them needed, and its rate since then is shown to be at most `shortfall_max`
    below theirs (`Earlier`), without a clear drift.
    """

    floor_requests: float = 0
    first_floor_requests: float = 0
    budget_s: float = BUDGET_S[Compiler.NONE]
    drift_max: float = 0.15
    clear_drift_max: float = 0.10
    shortfall_max: float = 0.05
    safety: float = 1.25
    confidence: float = 0.95
    windows_min: int = 10
    compiler_busy_max: float = 0.10

    @classmethod
    def of(cls, compiler: Compiler, floor_requests: float | None = None) -> Self:
        """The rule for a kind of runtime; a manifest may state another floor."""
        return cls(
            floor_requests=FLOOR_REQUESTS[compiler] if floor_requests is None else floor_requests,
            first_floor_requests=(
                FIRST_FLOOR_REQUESTS[compiler] if floor_requests is None else floor_requests
            ),
            budget_s=BUDGET_S[compiler],
            drift_max=DRIFT_MAX[compiler],
        )


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

    def rates(self) -> Floats:
        """Requests/s, corrected for what the control says about the machine."""
        rates = self.requests / self.seconds
        if self.control_rate is None:
            return rates
        return rates * (np.median(self.control_rate) / self.control_rate)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the windows say so far.

    `requests` and `seconds` were spent. When steady: `start` is the first window of the steady
    stretch, `requests_needed` what came before it, `rate_per_s` the rate since. `drift` and
    `drift_error` are the fitted change over the stretch and the half-width of its interval, as
    fractions of the rate (NaN: too few windows). `kind` compares the rate with that before the
    stretch: flat, warm-up (it rose), slowdown (it fell), none (not steady).
    """

    verdict: Verdict
    reason: str
    requests: float
    seconds: float
    kind: str = "none"
    start: int | None = None
    requests_needed: float = math.nan
    rate_per_s: float = math.nan
    drift: float = math.nan
    drift_error: float = math.nan

    @property
    def steady(self) -> bool:
        return self.verdict is Verdict.STEADY


@dataclass(frozen=True, slots=True)
class Earlier:
    """What the contender's earlier instances showed: the slowest to warm, and the rate once warm.

    The rate is the upper quartile: the fastest of up to four instances, since one of them may have
    been stopped in front of its last compiler tier; of more, one that does not grow with their
    number.
    """

    requests_needed: float
    rate_per_s: float

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
        )


def read(windows: Windows, rule: Rule, earlier: Earlier | None = None) -> Reading:
    """Judge an instance by its windows so far. Pure, and cheap enough to call after each window."""
    done = float(windows.requests.sum())
    spent_s = float(windows.seconds.sum())
    judged = _judge(windows, rule, earlier, done, spent_s)
    if judged.steady or spent_s < rule.budget_s - _ROUNDING_S:
        return judged
    reason = f"not steady within {rule.budget_s:g} s of load: {judged.reason}"
    return Reading(
        Verdict.UNSTEADY,
        reason,
        done,
        spent_s,
        rate_per_s=judged.rate_per_s,
        drift=judged.drift,
        drift_error=judged.drift_error,
    )


def _judge(
    windows: Windows, rule: Rule, earlier: Earlier | None, done: float, spent_s: float
) -> Reading:
    def go_on(reason: str) -> Reading:
        return Reading(Verdict.GO_ON, reason, done, spent_s)

    if done == 0:
        return go_on("not one right answer")
    strict_floor = floor = rule.first_floor_requests
    if earlier is not None:
        floor = max(rule.floor_requests, rule.safety * earlier.requests_needed)
        strict_floor = max(strict_floor, floor)
    waived = spent_s >= rule.budget_s / 2
    if done < floor and not waived:
        return go_on(f"{done:,.0f} of at least {floor:,.0f} requests served")
    busy = _compiler_busy(windows)
    if busy > rule.compiler_busy_max:
        return go_on(f"the compiler runs, or waits for a CPU, {busy:.0%} of the time")
    cumulative = np.concatenate(([0.0], np.cumsum(windows.requests)))
    rates = windows.rates()
    if earlier is not None and done >= floor:
        begin = _first_after(cumulative, max(earlier.requests_needed, done / 4))
        stretch = _Stretch.of(rates, begin, rule.confidence)
        fast = stretch.rate_low >= (1 - rule.shortfall_max) * earlier.rate_per_s
        if fast and not stretch.drifts(rule):
            reason = f"at the rate of earlier instances since {earlier.requests_needed:,.0f}"
            return stretch.steady(rates, done, spent_s, earlier.requests_needed, reason)
    if done < strict_floor and not waived:
        return go_on(f"not at the rate of earlier instances: {done:,.0f} of {strict_floor:,.0f}")
    begin = _first_after(cumulative, done / 4)
    stretch = _Stretch.of(rates, begin, rule.confidence)
    if stretch.rate == 0:
        return go_on(f"no right answer since {cumulative[begin]:,.0f} requests")
    if len(windows) < rule.windows_min or math.isnan(stretch.drift):
        return go_on(f"{len(windows)} windows are too few")
    level = abs(stretch.drift) + stretch.drift_error <= rule.drift_max
    if level and not stretch.drifts(rule):
        reason = f"no drift since {cumulative[begin]:,.0f}"
        return stretch.steady(rates, done, spent_s, float(cumulative[begin]), reason)
    clear = abs(stretch.drift) > stretch.drift_error
    reason = (
        f"drifts by {stretch.drift:+.1%}" if clear else "cannot yet exclude a drift"
    ) + f" (+-{stretch.drift_error:.1%}; at most {rule.drift_max:.0%} over two work-doublings)"
    return Reading(
        Verdict.GO_ON,
        reason,
        done,
        spent_s,
        rate_per_s=stretch.rate,
        drift=stretch.drift,
        drift_error=stretch.drift_error,
    )


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The last windows, from `begin` on: their mean rate, its lower bound, and their drift."""

    begin: int
    rate: float
    rate_low: float
    drift: float
    drift_error: float

    @classmethod
    def of(cls, rates: Floats, begin: int, confidence: float) -> Self:
        tail = rates[begin:]
        windows = len(tail)
        rate = float(tail.mean()) if windows else math.nan
        if windows < BATCHES_MIN // 2 or rate == 0:
            return cls(begin, rate, -math.inf, math.nan, math.inf)
        tail_sd = float(tail.std(ddof=1))
        low = rate - _t(confidence, windows - 1) * tail_sd / math.sqrt(windows)
        drift, error = batched_drift(tail, confidence)
        return cls(begin, rate, low, drift, error)

    def drifts(self, rule: Rule) -> bool:
        """Whether a drift is shown, rather than not excluded."""
        return abs(self.drift) - self.drift_error > rule.clear_drift_max

    def steady(
        self, rates: Floats, done: float, spent_s: float, needed: float, reason: str
    ) -> Reading:
        change = 1.0 if self.begin == 0 else float(rates[: self.begin].mean()) / self.rate
        kind = "flat"
        if change < 1 - _KIND_TOLERANCE:
            kind = "warm-up"
        elif change > 1 + _KIND_TOLERANCE:
            kind = "slowdown"
        return Reading(
            Verdict.STEADY,
            f"{reason} requests",
            done,
            spent_s,
            kind,
            self.begin,
            needed,
            self.rate,
            self.drift,
            self.drift_error,
        )


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


def _first_after(cumulative: Floats, requests: float) -> int:
    """The first window that begins at or after `requests`."""
    return min(int(np.searchsorted(cumulative, requests)), len(cumulative) - 1)


def _compiler_busy(windows: Windows) -> float:
    """Threads of the compiler that lately ran or waited for a CPU; 0 where that is not known."""
    if windows.compiler_busy_s is None:
        return 0.0
    ago_s = np.cumsum(windows.seconds[::-1])[::-1]
    lately = ago_s <= max(_COMPILER_LOOK_S, float(windows.seconds[-1]))
    return float(windows.compiler_busy_s[lately].sum() / windows.seconds[lately].sum())


@lru_cache(maxsize=1024)
def _t(confidence: float, degrees: int) -> float:
    return float(t_critical(1 - confidence, degrees))
