"""Stored warm-up curves (data/README.md), and their replay at another speed, with noise."""

import json
import lzma
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from deadheat.stats.distributions import Floats
from deadheat.stats.warmup.steady import read
from deadheat.stats.warmup.warm_rule import Compiler, Earlier, Reading, Rule, WarmVerdict, Windows

DATA = Path(__file__).parent / "data" / "warm_curves.json.xz"
WITH_COMPILER = DATA.with_name("compiler_curves.json.xz")
COMPILERS = {
    "Java": Compiler.TIERED,
    "Scala": Compiler.TIERED,
    "Node.js": Compiler.JIT,
    "Bun": Compiler.JIT,
}
WINDOW_S = 0.1
_STRIDE = 2  # windows between two looks

# A curve is replayed only where the machine ran at one speed: a neighbor or the server itself that
# fell behind says that the record holds the machine's changes, not the compiler's.
NEIGHBORS_MIN = 0.90
PLATEAU_MIN = 0.75
_MEDIAN_OF = 5


@dataclass(frozen=True)
class Curve:
    """A server's rate as a function of its requests, at the speed of the machine of the record.

    `raw` holds the rate in each 0.1 s of the record, warm-up and measured trials. `climb` is the
    same without its noise and only until the top tier: the smallest squared deviation that never
    falls (isotonic regression), at most `plateau`. From then on the rate is `plateau`.

    `plateau` is the median over the second half of the record's requests. The top tier is reached
    where the median of five windows first comes within 5 % of it, at `top_requests`.
    """

    server: str
    compiler: Compiler
    run: str
    source: str
    instance: int
    neighbors: float
    raw: Floats
    climb: Floats
    plateau: float
    warm_up_windows: int

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Self:
        rates = [max(requests, 1) / WINDOW_S for requests in stored["requests"]]
        for requests, rate in stored["later"]:
            rates += [rate] * max(round(requests / rate / WINDOW_S), 1)
        raw = np.array(rates)
        plateau = _plateau(raw)
        return cls(
            stored["server"],
            COMPILERS.get(stored["language"], Compiler.NONE),
            stored["run"],
            stored["source"],
            stored["instance"],
            stored["neighbors"],
            raw,
            _climb(raw, plateau),
            plateau,
            len(stored["requests"]),
        )

    @property
    def top_requests(self) -> float:
        return float(self.climb.sum() * WINDOW_S)

    def requests_within(self, share: float) -> float:
        """Requests after which the clean rate stays within `share` of the plateau."""
        below = self.climb < (1 - share) * self.plateau
        return float(self.climb[below].sum() * WINDOW_S)

    def replay(
        self,
        generator: np.random.Generator,
        windows: int,
        *,
        speed: float = 1.0,
        noise: float = 0.0,
        seeds: int = 1,
        raw: bool = False,
        correlation: float = 0.0,
        served: float = 0.0,
        window_s: float = WINDOW_S,
    ) -> Floats:
        """Cumulative requests at the edges of each window, (seeds, windows + 1).

        A window does `speed` times the work, times lognormal noise of mean 1 and relative standard
        deviation `noise`, with `correlation` between successive windows. `served` requests came
        before; `raw` replays the record with the noise that it has.
        """
        rates = self.raw if raw else self.climb
        work = np.concatenate(([0.0], np.cumsum(rates * WINDOW_S)))
        seconds = np.arange(len(rates) + 1) * WINDOW_S
        seconds = np.append(seconds, seconds[-1] + 1e5)
        work = np.append(work, work[-1] + 1e5 * self.plateau)
        shocks = generator.standard_normal((seeds, windows))
        for index in range(1, windows if correlation else 0):
            fresh = math.sqrt(1 - correlation**2) * shocks[:, index]
            shocks[:, index] = correlation * shocks[:, index - 1] + fresh
        sigma = math.sqrt(math.log1p(noise**2))
        factors = np.exp(sigma * shocks - sigma**2 / 2)
        begin = float(np.interp(served, work, seconds))
        passed = begin + np.cumsum(speed * window_s * factors, axis=1)
        return np.asarray(np.interp(np.insert(passed, 0, begin, axis=1), seconds, work))


@cache
def stored_curves() -> tuple[Curve, ...]:
    document = json.loads(lzma.decompress(DATA.read_bytes()))
    return tuple(Curve.of(stored) for stored in document["curves"])


def clean_curves(*servers: str) -> dict[str, list[Curve]]:
    """The curves of a machine at one speed, by server; those whose names begin with `servers`."""
    everyone = defaultdict(list)
    for curve in stored_curves():
        if curve.server.startswith(servers or ""):
            everyone[curve.server].append(curve)
    return {
        server: [
            curve
            for curve in curves
            if curve.neighbors >= NEIGHBORS_MIN
            and curve.plateau >= PLATEAU_MIN * np.median([other.plateau for other in curves])
        ]
        for server, curves in sorted(everyone.items())
    }


def longest(curve: Curve) -> int:
    """Windows until the budget of a warm-up is spent."""
    return round(Rule.of(curve.compiler).budget_s / WINDOW_S) + _STRIDE


def warm(curve: Curve, run: Floats, earlier: Earlier | None) -> tuple[int, Reading]:
    """The window after which the rule stops, and why."""
    rule = Rule.of(curve.compiler)
    requests = np.diff(run)
    seconds = np.full(len(requests), WINDOW_S)
    for stop in range(_STRIDE, len(requests) + 1, _STRIDE):
        reading = read(Windows(requests[:stop], seconds[:stop]), rule, earlier)
        if reading.verdict is not WarmVerdict.GO_ON:
            return stop, reading
    raise AssertionError("the budget ends every warm-up")


def first(
    curves: Sequence[Curve], runs: Sequence[Floats], generator: np.random.Generator
) -> Iterator[tuple[int, int, bool]]:
    """(curve, windows, steady) of each curve, warmed without a predecessor."""
    for place, (curve, run) in enumerate(zip(curves, runs, strict=True)):
        stop, reading = warm(curve, run, None)
        yield place, stop, reading.steady


def later(
    curves: Sequence[Curve], runs: Sequence[Floats], generator: np.random.Generator
) -> Iterator[tuple[int, int, bool]]:
    """The same, each but the first of a stored run with what those before it showed."""
    for run in sorted({curve.run for curve in curves}):
        readings: list[Reading] = []
        places = [place for place, curve in enumerate(curves) if curve.run == run]
        for count, place in enumerate(generator.permutation(places)):
            stop, reading = warm(curves[place], runs[place], Earlier.of(readings))
            readings.append(reading)
            if count:
                yield int(place), stop, reading.steady


@dataclass(frozen=True)
class CompilerCurve:
    """An instance of a JVM server in successive windows, with the time its compiler was busy."""

    server: str
    requests: Floats
    seconds: Floats
    compiler_busy_s: Floats


@cache
def compiler_curves() -> tuple[CompilerCurve, ...]:
    document = json.loads(lzma.decompress(WITH_COMPILER.read_bytes()))
    names = ("requests", "seconds", "compiler_busy_s")
    return tuple(
        CompilerCurve(stored["server"], *(np.array(stored[name], dtype=float) for name in names))
        for stored in document["curves"]
    )


JVM = Rule.of(Compiler.TIERED)
BY_DRIFT_ALONE = replace(JVM, quiet_s=math.inf)  # an idle compiler is no evidence


def warm_with_compiler(curve: CompilerCurve, rule: Rule = JVM) -> tuple[int, Reading]:
    """The window after which the rule for a first instance stops, and why; looks as in a race."""
    for stop in range(12, len(curve.requests) + 1, 4):
        busy_s = curve.compiler_busy_s[:stop]
        reading = read(Windows(curve.requests[:stop], curve.seconds[:stop], busy_s), rule)
        if reading.verdict is not WarmVerdict.GO_ON:
            break
    return stop, reading


def _plateau(rates: Floats) -> float:
    cumulative = np.cumsum(rates)
    late = np.sort(rates[cumulative > cumulative[-1] / 2])
    weights = np.cumsum(late)
    return float(late[np.searchsorted(weights, weights[-1] / 2)])


def _climb(rates: Floats, plateau: float) -> Floats:
    padded = np.pad(rates, _MEDIAN_OF // 2, mode="edge")
    smooth = np.median(np.lib.stride_tricks.sliding_window_view(padded, _MEDIAN_OF), axis=1)
    top = int(np.argmax(smooth >= 0.95 * plateau))
    return np.minimum(_never_falling(rates[:top]), plateau)


def _never_falling(values: Sequence[float] | Floats) -> Floats:
    """Isotonic regression by pooling adjacent violators (Ayer et al. 1955)."""
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, size = float(value), 1
        while pools and pools[-1][0] >= mean:
            other, others = pools.pop()
            mean = (mean * size + other * others) / (size + others)
            size += others
        pools.append((mean, size))
    return np.repeat([mean for mean, _ in pools], [size for _, size in pools]).astype(float)
