"""What limited the rates, and how precisely a run knows them.

Something always limits a closed loop: the client, the server's CPUs, or too few workers. If it is
not a CPU, requests wait: for each other on too few connections, for a timer, a lock, a disk, or a
delayed acknowledgment. A run of one contender has a rate with an interval in place of ranks.
"""

import enum
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deadheat import numbers
from deadheat.measure.contender import NULL_SERVER
from deadheat.report.findings.analysis import (
    Analysis,
    LevelAnalysis,
    Standing,
    Statement,
    valid_rates,
)
from deadheat.report.model.view import Cell, ContenderView, RunView
from deadheat.stats.ranking.pairs import PRECISION, half_width
from deadheat.stats.ranking.ranks import Ranking
from deadheat.store.json_columns import CalibrationResult, FoundSlowdown

FULL_SHARE = 0.85  # of a CPU counts as full: scheduling and the kernel take the rest
NAMED = 6
HOLD_FOR = "all this is for these builds, under this load, on this machine, in these minutes"


class Limit(enum.StrEnum):
    CLIENT = "client"
    WAITING = "waiting"
    WORKERS = "workers"
    CPU = "cpu"


LIMIT_TEXTS = {
    Limit.CLIENT: "the client: {names}",
    Limit.WAITING: "no CPU: {names} left part of the server's {cpus} idle; requests waited for a "
    "timer, a lock, a disk or an acknowledgment, or there were too few of them",
    Limit.WORKERS: "too few workers to use the server's {cpus}: {names}",
    Limit.CPU: "the server's {cpus}: {names}",
}


def limit_of(view: RunView, contender: ContenderView, cell: Cell) -> Limit | None:
    """What limited the trials behind the figures; None if the server's CPU time is unknown."""
    if view.outran_client(contender.name, cell.connections):
        return Limit.CLIENT
    used = cell.server_cpus_used
    if used is None or not view.server_cpus:
        return None
    if used + (cell.database_cpus_used or 0.0) >= FULL_SHARE * view.server_cpus:
        return Limit.CPU
    if contender.workers < view.server_cpus and used >= FULL_SHARE * contender.workers:
        return Limit.WORKERS
    return Limit.WAITING


def limits(view: RunView, level: LevelAnalysis) -> Iterator[Statement]:
    """A statement for each limit that some contender reached, in the order of `Limit`."""
    names_by_limit: dict[Limit, list[str]] = {limit: [] for limit in Limit}
    for standing in level.standings:
        limit = limit_of(view, standing.contender, standing.cell)
        if limit is not None:
            names_by_limit[limit].append(standing.name + _used_share(view, limit, standing.cell))
    known = sum(map(len, names_by_limit.values()))
    cpus = numbers.count(view.server_cpus, "CPU")
    for limit, names in names_by_limit.items():
        if names:
            text = LIMIT_TEXTS[limit].format(names=_named(names, known), cpus=cpus)
            yield Statement("limited by", text)


def _named(names: list[str], known: int) -> str:
    if len(names) == known > 1:
        return f"all {known}"
    if len(names) > NAMED:
        return f"{len(names)} of {known}"
    return numbers.listing(names)


def _used_share(view: RunView, limit: Limit, cell: Cell) -> str:
    """The share of its CPUs that a server used, if its requests waited, and its database's."""
    parts = []
    if limit is Limit.WAITING and cell.server_cpus_used is not None:
        parts.append(f"{numbers.percent(cell.server_cpus_used / view.server_cpus, 0)} used")
    if limit is not Limit.CLIENT and cell.database_cpus_used is not None:
        share = numbers.percent(cell.database_cpus_used / view.server_cpus, 0)
        parts.append(f"{share} by the database")
    return f" ({', '.join(parts)})" if parts else ""


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
        if not numbers.is_known(low, high):
            return None
        return self.rate_per_s * low, self.rate_per_s * high


def runs_alone(view: RunView) -> bool:
    """Whether the run has a single contender, so there is nothing to rank."""
    return view.races and len(view.contenders) == 1


def lone_rate(view: RunView, level: LevelAnalysis) -> LoneRate | None:
    """The rate of the only contender; None if there are several, or no valid trial."""
    if not runs_alone(view) or not level.standings:
        return None
    (standing,) = level.standings
    rates = valid_rates(standing.cell)
    rate_per_s = standing.cell.rate_per_s(view.aggregate)
    if not rates or rate_per_s is None:
        return None
    confidence = view.confidence
    instances = len({invocation for invocation, *_ in rates})
    return LoneRate(standing, rate_per_s, half_width(rates, confidence), instances)


def lone_answer(lone: LoneRate) -> str:
    """`my-server answers 93,100 requests/s (91,000 to 95,200)`."""
    text = f"{lone.standing.name} answers {numbers.rate(lone.rate_per_s)} requests/s"
    if lone.interval is None:
        return f"{text}; the interval is unknown"
    low, high = map(numbers.rate, lone.interval)
    return f"{text} ({low} to {high})"


def lone_statements(view: RunView, level: LevelAnalysis) -> Iterator[Statement]:
    """The rate with its interval, latency, cost, the limit, and the distance to the null server."""
    lone = lone_rate(view, level)
    if lone is None:
        return
    cell, contender = lone.standing.cell, lone.standing.contender
    starts = numbers.count(lone.instances, "start")
    if lone.interval is None:
        yield Statement("rate", f"the interval is unknown after {starts}")
    else:
        percent = numbers.percent(math.expm1(lone.half_width))
        yield Statement("rate", f"known to ±{percent} at 95 % from {starts}")
    p50, p99 = (numbers.milliseconds(cell.service[q]) for q in ("p50", "p99"))
    yield Statement("latency", f"p50 {p50} ms, p99 {p99} ms (service time under full load)")
    cost = numbers.microseconds(cell.server_cpu_us_per_request)
    memory = numbers.mebibytes(contender.memory_peak_bytes)
    yield Statement("cost", f"{cost} µs of CPU time per request, {memory} MiB at the peak")
    for statement in limits(view, level):
        yield Statement("limit", statement.text)
    if (null_per_s := _null_rate_per_s(view, level)) is not None:
        times = numbers.figure(null_per_s / lone.rate_per_s)
        text = (
            f"the null server, which does as little as possible, answers "
            f"{numbers.rate(null_per_s)} requests/s here: {times} times as many"
        )
        yield Statement("null server", text)


def _null_rate_per_s(view: RunView, level: LevelAnalysis) -> float | None:
    cells = [c.cells.get(level.connections) for c in view.controls if c.name == NULL_SERVER]
    return next((cell.rate_per_s(view.aggregate) for cell in cells if cell), None)


def precision(view: RunView, analysis: Analysis) -> Iterator[Statement]:
    """What limited the rates, the client's ceiling, machine noise, power, calibration, method."""
    if lone_rate(view, analysis.main) is None:
        yield from limits(view, analysis.main)
        yield from _ceiling(view, analysis.main)
    yield from _noise(view, analysis.main)
    yield from _resolution(analysis.main.ranking, bool(view.sliced))
    if view.sliced and analysis.measured_share is not None:
        share = numbers.percent(analysis.measured_share, 0)
        yield Statement(
            "measured", f"{share} of the race's time; the rest is starts, thaws and drains"
        )
    if view.sliced:
        yield from _rare_events(analysis.main)
    if known := view.calibration:
        yield Statement("calibration", calibration(known.at, known.result))
    if (method := _method(view, analysis)) is not None:
        yield Statement("method", f"{method}; {HOLD_FOR}")


def _ceiling(view: RunView, level: LevelAnalysis) -> Iterator[Statement]:
    """The client's rate against the null server, and the fastest contender's share of it."""
    ceiling_per_s = _null_rate_per_s(view, level)
    if ceiling_per_s is None:
        return
    text = (
        f"the client reached {numbers.rate(ceiling_per_s)} requests/s against the null server, "
        "which does as little as possible"
    )
    known = [(s.cell.rate_per_s("median") or 0.0, s.name) for s in level.standings]
    if known and (fastest := max(known))[0] > 0:
        text += f"; {fastest[1]} reached {numbers.percent(fastest[0] / ceiling_per_s, 0)} of that"
    yield Statement("ceiling", text)


def _noise(view: RunView, level: LevelAnalysis) -> Iterator[Statement]:
    """How much the rates of the controls varied, over all their trials, and what that touches."""
    ranges = [
        f"{name} by {min(moves):+.1f} to {max(moves):+.1f} % around {numbers.rate(middle_per_s)}"
        for name, middle_per_s, moves in _moves(view, level.connections)
    ]
    if ranges:
        text = f"our control servers varied: {numbers.listing(ranges)} requests/s"
        yield Statement("noise", f"{text}; {noise_means(view, level)}")


def noise_means(view: RunView, level: LevelAnalysis) -> str:
    """What the noise of the machine means for the answer."""
    if view.protocol.kind == "alone":
        return "rates and ratios may be off by as much, since each contender ran at another time"
    if level.ranking is None or len(level.ranking.rows) < 2:
        return "rates may be off by as much"
    return "the intervals of ratios include it, requests/s and p99 do not"


def noise_range(view: RunView, connections: int) -> tuple[float, float] | None:
    """How far the rates of the controls' trials went below and above their rates, in percent."""
    moves = [move for *_, own in _moves(view, connections) for move in own]
    return (min(moves), max(moves)) if moves else None


def _moves(view: RunView, connections: int) -> Iterator[tuple[str, float, list[float]]]:
    """Each control with several trials: its rate, and how far these are from it, in percent."""
    for control in view.controls:
        cell = control.cells.get(connections, Cell(connections))
        middle_per_s = cell.rate_per_s(view.aggregate)
        rates = [t.rate_per_s for t in cell.trials if t.measured and t.rate_per_s is not None]
        if len(rates) > 1 and middle_per_s is not None:
            yield control.name, middle_per_s, [100 * (rate / middle_per_s - 1) for rate in rates]


def _resolution(ranking: Ranking | None, sliced: bool) -> Iterator[Statement]:
    if ranking is not None and not math.isnan(ranking.minimum_detectable_effect):
        least = numbers.percent(ranking.minimum_detectable_effect)
        which = " between contenders that raced to the end" if sliced else ""
        yield Statement("resolution", f"80 % power to detect a difference of {least}{which}")


def _rare_events(level: LevelAnalysis) -> Iterator[Statement]:
    """How many requests the longest measured instance of a contender answered in its slices.

    A server that pauses once in so many requests, counted from its start, may never have paused.
    """
    most: list[tuple[int, str]] = []
    for standing in level.standings:
        requests: Counter[int] = Counter()
        for trial in standing.cell.counted:
            requests[trial.invocation] += sum(each.requests_ok or 0 for each in trial.slices)
        most.append((max(requests.values(), default=0), standing.name))
    if not most:
        return
    spread = " to ".join(f"{count:,} ({name})" for count, name in sorted({min(most), max(most)}))
    text = (
        f"no instance answered more than {spread} requests in its slices: what comes more rarely, "
        "such as a long pause, is not in the rates"
    )
    yield Statement("rare events", text)


def calibration(at: str, result: CalibrationResult) -> str:
    """What `deadheat calibrate` measured on a machine like this run's, and when."""
    parts = []
    if (share := result.false_difference_rate) is not None:
        pairs = "?" if result.null_pairs is None else result.null_pairs
        parts.append(
            f"{numbers.percent(share)} of {pairs} pairs of equal servers seemed to differ "
            f"({numbers.percent(result.nominal, 0)} is expected by chance)"
        )
        if not result.passed:
            parts.append("that is more than chance explains, or too few pairs were measured")
    if result.slowdowns:
        parts.append(_slowdown_text(result.slowdowns))
    if (effect := result.minimum_detectable_effect) is not None:
        parts.append(f"80 % power to detect a difference of {numbers.percent(effect)}")
    return f"a machine of this kind, on {at[:10]}: {'; '.join(parts)}"


def _slowdown_text(slowdowns: Sequence[FoundSlowdown]) -> str:
    """The smallest slowdown such that every race found it and all larger ones."""
    smallest = None
    for slowdown in sorted(slowdowns, key=lambda slowdown: -slowdown.injected):
        if slowdown.found < slowdown.races:
            break
        smallest = slowdown
    if smallest is None:
        worst = max(slowdown.injected for slowdown in slowdowns)
        return f"not even a slowdown of {numbers.percent(worst, 0)} was found in every race"
    share, races = numbers.percent(smallest.injected, 0), numbers.count(smallest.races, "race")
    return f"a slowdown of {share} was found in {smallest.found} of {races}"


def _method(view: RunView, analysis: Analysis) -> str | None:
    ranking = analysis.main.ranking
    if ranking is None or len(ranking.rows) < 2:
        return None
    comparisons = ranking.level.comparisons
    hold = (
        f"the intervals of all {comparisons:,} pairs hold jointly"
        if comparisons > 1
        else "the interval holds"
    )
    hold += f" at {numbers.percent(ranking.level.confidence, 0)}{_looks(view)}"
    blocks = numbers.count(analysis.blocks, "block")
    if view.sliced:
        instances = numbers.count(analysis.invocations, "instance")
        return (
            f"{hold}; rates and ratios come from one model of all slices: {blocks}, up to "
            f"{instances} of each contender"
        )
    if view.protocol.kind == "alone":
        repetitions = numbers.count(analysis.blocks, "repetition")
        return (
            f"{hold}; ratios of geometric means over {repetitions}; the contenders ran one after "
            "the other, so a change of the machine is not canceled"
        )
    starts = numbers.count(analysis.invocations, "fresh start")
    text = f"{hold}; ratios of geometric means, paired by block over {blocks} in {starts}"
    if analysis.invocations == 1:
        text += "; one start cannot show how much starts differ"
    if analysis.heats > 1:
        text += (
            f"; {analysis.heats} heats, because not all contenders fit into memory together: "
            "contenders of different heats are compared through the controls, which ran in each"
        )
    return text


def _looks(view: RunView) -> str:
    """For how many looks the intervals hold: a race could end at each declared look."""
    if not view.settles:
        return ""
    share = view.conclusion.share
    if share is None:
        return " for this look only: it was not a declared one, so the next may differ"
    spent = numbers.percent(share, 0)
    return f" over all declared looks (this one spends {spent} of the allowed error)"
