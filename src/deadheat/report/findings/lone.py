"""A run of one contender: its rate with an interval, its limit, and the null server beside it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from deadheat.measure.contender import NULL_SERVER
from deadheat.report import format
from deadheat.report.findings.analysis import Level, Standing, valid_rates
from deadheat.report.findings.limits import limits
from deadheat.report.model.statement import Statement
from deadheat.report.model.view import RunView
from deadheat.stats.single_rate import PRECISION, half_width


@dataclass(frozen=True, slots=True)
class LoneRate:
    """Requests/s of the only contender; `half_width` is relative, and infinite for one instance."""

    standing: Standing
    rate_per_s: float
    half_width: float
    instances: int

    @property
    def known(self) -> bool:
        """Whether the run has reached the precision at which it ends."""
        return self.half_width <= math.log1p(PRECISION)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the interval; None if it says nothing."""
        low, high = (math.exp(sign * self.half_width) for sign in (-1, 1))
        if not format.is_known(low, high):
            return None
        return self.rate_per_s * low, self.rate_per_s * high


def runs_alone(view: RunView) -> bool:
    """Whether the run has a single contender, so there is nothing to rank."""
    return view.races and len(view.contenders) == 1


def lone_rate(view: RunView, level: Level) -> LoneRate | None:
    """The rate of the only contender; None if there are several, or no valid trial."""
    if not runs_alone(view) or not level.standings:
        return None
    (standing,) = level.standings
    rates = valid_rates(standing.cell)
    rate_per_s = standing.cell.rate_per_s(view.aggregate)
    if not rates or rate_per_s is None:
        return None
    confidence = view.protocol.stopping.confidence
    instances = len({invocation for invocation, *_ in rates})
    return LoneRate(standing, rate_per_s, half_width(rates, confidence), instances)


def lone_answer(lone: LoneRate) -> str:
    """`my-server answers 93,100 requests/s (91,000 to 95,200)`."""
    text = f"{lone.standing.name} answers {format.rate(lone.rate_per_s)} requests/s"
    if lone.interval is None:
        return f"{text}; the interval is unknown"
    low, high = map(format.rate, lone.interval)
    return f"{text} ({low} to {high})"


def lone_statements(view: RunView, level: Level) -> Iterator[Statement]:
    """The rate with its interval, latency, cost, the limit, and the distance to the null server."""
    lone = lone_rate(view, level)
    if lone is None:
        return
    cell, contender = lone.standing.cell, lone.standing.contender
    starts = format.count(lone.instances, "start")
    if lone.interval is None:
        yield Statement("rate", f"the interval is unknown after {starts}")
    else:
        percent = format.percent(math.expm1(lone.half_width))
        yield Statement("rate", f"known to ±{percent} at 95 % from {starts}")
    p50, p99 = (format.milliseconds(cell.service[q]) for q in ("p50", "p99"))
    yield Statement("latency", f"p50 {p50} ms, p99 {p99} ms (service time under full load)")
    cost = format.microseconds(cell.server_cpu_us_per_request)
    memory = format.mebibytes(contender.memory_peak_bytes)
    yield Statement("cost", f"{cost} µs of CPU time per request, {memory} MiB at the peak")
    for statement in limits(view, level):
        yield Statement("limit", statement.text)
    if (null_per_s := _null_rate_per_s(view, level)) is not None:
        times = format.figure(null_per_s / lone.rate_per_s)
        text = (
            f"the null server, which does as little as possible, answers "
            f"{format.rate(null_per_s)} requests/s here: {times} times as many"
        )
        yield Statement("null server", text)


def _null_rate_per_s(view: RunView, level: Level) -> float | None:
    cells = [c.cells.get(level.connections) for c in view.controls if c.name == NULL_SERVER]
    return next((cell.rate_per_s(view.aggregate) for cell in cells if cell), None)
