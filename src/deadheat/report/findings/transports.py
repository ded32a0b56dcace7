"""What a transport costs each server, beside the first one of the run; and handshakes of TLS."""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deadheat import numbers
from deadheat.report.findings.comparison import changes
from deadheat.report.model.facts import grouped
from deadheat.report.model.series import SHAPE, Finite
from deadheat.report.model.slice_fit import beside_first_transport, over_transport
from deadheat.report.model.view import Cell, RunView
from deadheat.stats.distributions import Floats, t_critical
from deadheat.stats.ranking.alpha_spending import ErrorLevel
from deadheat.stats.ranking.change import (
    MeanDifference,
    UnpairedChange,
    learned_difference,
    learned_means,
)
from deadheat.stats.ranking.model_ranking import pair_fits
from deadheat.stats.ranking.pairs import PairFits

Places = npt.NDArray[np.int64]
UNKNOWN = MeanDifference(math.nan, math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class TransportCost:
    """A server on a workload over a transport, beside the same over the first transport.

    The intervals of one figure of a workload over a transport hold jointly at 95 %. In a race in
    slices, those of rates come from one model of the slices over both transports. What is unknown
    is null.
    """

    __pydantic_config__ = SHAPE

    name: str
    workload: str
    by: str
    connections: int
    rate_ratio: Finite | None
    rate_ratio_low: Finite | None
    rate_ratio_high: Finite | None
    cpu_us_more: Finite | None
    """CPU time of the server per request."""
    cpu_us_more_low: Finite | None
    cpu_us_more_high: Finite | None
    service_us_p99: Finite | None
    service_us_p99_by: Finite | None
    service_us_p99_more: Finite | None
    """The difference between the means over starts, which have a p99 each."""
    service_us_p99_more_low: Finite | None
    service_us_p99_more_high: Finite | None


@dataclass(frozen=True, slots=True)
class Handshakes:
    """Handshakes of TLS at a level where each connection makes a full one and gets one answer."""

    __pydantic_config__ = SHAPE

    name: str
    workload: str
    connections: int
    handshakes: int
    per_s: Finite | None
    us_p50: Finite | None
    """From the end of the connect until the client may send its request."""
    us_p99: Finite | None
    server_cpu_us: Finite | None
    """For a handshake with its connection: to accept it, to answer a request, and to close it."""


def handshakes(view: RunView) -> tuple[Handshakes, ...]:
    """By level, the most per second first; empty if connections were kept, or had no TLS."""
    rows = [
        _handshakes(view, contender.label or contender.name, cell)
        for connections in view.levels
        for contender in view.contenders
        if (cell := contender.cells.get(connections)) is not None and cell.handshake.requests
    ]
    return tuple(sorted(rows, key=lambda row: (row.connections, -(row.per_s or 0.0))))


def _handshakes(view: RunView, name: str, cell: Cell) -> Handshakes:
    """Of each answer, also a wrong one, there was a handshake: the rate is that of answers."""
    made, answered = cell.handshake.requests, sum(trial.requests_ok for trial in cell.counted)
    rate_per_s, cpu_us = cell.rate_per_s(view.aggregate), cell.server_cpu_us_per_request
    return Handshakes(
        name=name,
        workload=view.workload,
        connections=cell.connections,
        handshakes=made,
        per_s=rate_per_s * made / answered if rate_per_s and answered else None,
        us_p50=cell.handshake["p50"],
        us_p99=cell.handshake["p99"],
        server_cpu_us=cpu_us * answered / made if cpu_us is not None else None,
    )


def transport_costs(parts: Sequence[RunView], mains: Mapping[str, int]) -> list[TransportCost]:
    """By workload, transport and server; `mains` has the main number of connections of each."""
    measured = [part for part in parts if part.workload in mains]
    return [
        cost
        for first, other in beside_first_transport(measured)
        if mains[first.workload] == mains[other.workload]
        for cost in _between(first, other, mains[other.workload])
    ]


def cost_sentences(costs: Sequence[TransportCost]) -> Iterator[str]:
    """The medians over the servers, by workload and transport."""
    for (by, workload), group in grouped(costs, lambda cost: (cost.by, cost.workload)).items():
        ratios = [cost.rate_ratio for cost in group if cost.rate_ratio is not None]
        more_us = [cost.cpu_us_more for cost in group if cost.cpu_us_more is not None]
        if not ratios:
            continue
        servers = numbers.count(len(ratios), "server")
        text = f"{workload} has {numbers.percent(statistics.median(ratios))} of the rate of {by}"
        if more_us:
            us = statistics.median(more_us)
            text += f" and takes {abs(us):,.1f} µs {'more' if us >= 0 else 'less'} CPU time"
        yield f"{text} (medians of {servers})"


def _between(first: RunView, other: RunView, connections: int) -> Iterator[TransportCost]:
    before, after = (
        {c.name: c.cells[connections] for c in view.contenders if connections in c.cells}
        for view in (first, other)
    )
    rates = changes(first, other, connections) | _modeled(first, other, connections)
    names = [name for name in before if name in after and name in rates]
    cpu_us = _more(before, after, names, _cpu_us_by_start)
    p99_us = _more(before, after, names, lambda cell: cell.service_us_p99_by_start)
    for name in names:
        rate, cpu, p99 = rates[name], cpu_us.get(name, UNKNOWN), p99_us.get(name, UNKNOWN)
        known = numbers.is_known(rate.low, rate.high)
        yield TransportCost(
            name=name,
            workload=other.workload,
            by=first.workload,
            connections=connections,
            rate_ratio=rate.ratio,
            rate_ratio_low=rate.low if known else None,
            rate_ratio_high=rate.high if known else None,
            cpu_us_more=_finite(cpu.value),
            cpu_us_more_low=_finite(cpu.low),
            cpu_us_more_high=_finite(cpu.high),
            service_us_p99=after[name].service["p99"],
            service_us_p99_by=before[name].service["p99"],
            service_us_p99_more=_finite(p99.value),
            service_us_p99_more_low=_finite(p99.low),
            service_us_p99_more_high=_finite(p99.high),
        )


def _more(
    before: Mapping[str, Cell],
    after: Mapping[str, Cell],
    names: Sequence[str],
    by_start: Callable[[Cell], Sequence[float]],
) -> dict[str, MeanDifference]:
    """What a figure of each server is more by; a server without it on both sides is left out."""
    alpha = ErrorLevel(comparisons=max(len(names), 1)).alpha
    means = learned_means(
        {
            (name, side): by_start(cells[name])
            for name in names
            for side, cells in enumerate((before, after))
        }
    )
    return {
        name: learned_difference(means[name, 0], means[name, 1], alpha)
        for name in names
        if (name, 0) in means and (name, 1) in means
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _modeled(first: RunView, other: RunView, connections: int) -> dict[str, UnpairedChange]:
    """The changes of the contenders in one model of both; empty for a run without slices."""
    level = other.sliced.get(connections)
    if level is None or level.both is None:
        return {}
    places = {name: place for place, name in enumerate(level.both.names)}
    sides = {
        contender.name: [
            places.get(over_transport(view.workload, contender.name)) for view in (first, other)
        ]
        for contender in other.contenders
    }
    fits = pair_fits(level.both.fit, level.both.fit.estimate)
    pairs = {
        name: (before, after)
        for name, (before, after) in sides.items()
        if before is not None and after is not None
    }
    if not pairs:
        return {}
    before, after = np.array([*pairs.values()]).T
    half_width = _half_widths(fits, before, after, _shifts(first, other, connections, [*pairs]))
    log_ratio = fits.log_ratio[after, before]
    return {
        name: UnpairedChange.of(log_ratio[place], half_width[place])
        for place, name in enumerate(pairs)
    }


def _shifts(
    first: RunView, other: RunView, connections: int, names: Sequence[str]
) -> Sequence[float]:
    """What the servers lose alike over the second transport in each block, around the mean."""
    by_block: defaultdict[int, list[float]] = defaultdict(list)
    for name in names:
        before, after = (
            {
                trial.block: math.log(trial.rate_per_s)
                for contender in view.contenders
                if contender.name == name
                for trial in contender.cells[connections].valid
                if trial.rate_per_s
            }
            for view in (first, other)
        )
        lost = {block: after[block] - before[block] for block in before if block in after}
        mean = statistics.fmean(lost.values()) if lost else 0.0
        for block, value in lost.items():
            by_block[block].append(value - mean)
    return [statistics.fmean(values) for values in by_block.values()]


def _half_widths(fits: PairFits, before: Places, after: Places, shifts: Sequence[float]) -> Floats:
    """Of the log ratios of the servers `after` to those `before`, jointly at 95 %.

    A block measures one transport after the other. What the machine does in between is the same for
    all servers, so these errors do not cancel. The model expects them from what the machine does
    from slice to slice; rare disturbances are worse. So their variance is at least that of the
    shifts from block to block, and has so many degrees of freedom (Satterthwaite 1946).
    """
    alpha = ErrorLevel(comparisons=len(before)).alpha
    if len(shifts) < 2:
        return fits.half_width(alpha)[after, before]
    variance = fits.standard_error**2
    own, own_degrees = variance[after, before], fits.degrees_of_freedom[after, before]
    crossed, within = variance[np.ix_(after, before)], variance[np.ix_(before, before)]
    covariance = (crossed + crossed.T - variance[np.ix_(after, after)] - within) / 2
    known = covariance[~np.eye(len(before), dtype=bool) & np.isfinite(covariance)]
    shared = np.clip(known.mean() if len(known) else own, 0.0, own)
    seen = statistics.variance(shifts) / len(shifts)
    common, rest = np.maximum(shared, seen), own - shared
    degrees = (common + rest) ** 2 / (common**2 / (len(shifts) - 1) + rest**2 / own_degrees)
    reach = t_critical(alpha / 2, np.minimum(degrees, own_degrees)) * np.sqrt(common + rest)
    return np.asarray(reach + fits.disagreement[after, before])


def _cpu_us_by_start(cell: Cell) -> list[float]:
    """CPU time per request of each instance: the mean of its trials."""
    by_start: defaultdict[int, list[float]] = defaultdict(list)
    for trial in cell.counted:
        if trial.server_cpu_us_per_request is not None:
            by_start[trial.invocation].append(trial.server_cpu_us_per_request)
    return [statistics.fmean(values) for values in by_start.values()]
