"""Offered rates: what the same traffic costs each server and how long it waits, in a race at common
rates; and the highest rate that holds an objective, in a search.

In a race, both are ranked as rates are: requests per second of CPU time, and 1 / p99, over the
trials of each block (`stats.ranking.rank`). Servers of one run differ in what they hold, so each
rate has a ranking of its own, over those that hold it.
"""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from deadheat import numbers
from deadheat.campaign.capacity import SERVER_GATES
from deadheat.campaign.past import COMMON_RATE
from deadheat.protocol import RateProtocol
from deadheat.report.findings.analysis import Statement, Times, place_of, shown_name
from deadheat.report.findings.next_step import BUDGET_S, MINUTE_S, reasonable_s, run_anew
from deadheat.report.model.view import ContenderView, OfferedCell, RunView, TrialView
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.pairs import Place, rankable, rate_matrix
from deadheat.stats.ranking.ranks import Pair, Ranking, Row, rank, share_left, without_interval
from deadheat.store import Capacity
from deadheat.workload import over, parts_of

MEMORY_UNIT_BYTES = 100 * numbers.MIB


@dataclass(frozen=True, slots=True)
class CapacityResult:
    """The result of the search for one contender, and what the rate costs.

    `cpus` is the number of CPUs that the server was given. Memory is the peak over all trials of
    the search; CPU time per request is from the trials at the rate that held.
    """

    capacity: Capacity
    cpus: int
    memory_peak_bytes: int | None
    server_cpu_us_per_request: float | None
    disturbed: bool  # every trial at `above_per_s` was, so the server may hold more

    @property
    def rate_per_s_per_cpu(self) -> float | None:
        rate_per_s = self.capacity.rate_per_s
        return rate_per_s / self.cpus if self.cpus and rate_per_s else None

    @property
    def rate_per_s_per_100_mib(self) -> float | None:
        peak_bytes, rate_per_s = self.memory_peak_bytes, self.capacity.rate_per_s
        return rate_per_s * MEMORY_UNIT_BYTES / peak_bytes if peak_bytes and rate_per_s else None


def capacities(view: RunView) -> tuple[CapacityResult, ...]:
    """In the order of the searches; empty if the run has none."""
    _, transport = parts_of(view.workload)
    contenders = {over(contender.name, transport): contender for contender in view.contenders}
    return tuple(
        _result(contenders[capacity.name], capacity, view.server_cpus)
        for capacity in view.conclusion.capacities
    )


def _result(contender: ContenderView, capacity: Capacity, cpus: int) -> CapacityResult:
    held = _cell_at(contender, capacity.rate_per_s)
    above = _cell_at(contender, capacity.above_per_s)
    return CapacityResult(
        capacity=capacity,
        cpus=cpus,
        memory_peak_bytes=contender.memory_peak_bytes,
        server_cpu_us_per_request=held.server_cpu_us_per_request if held else None,
        disturbed=above is not None and all(map(_disturbed, above.trials)),
    )


def _cell_at(contender: ContenderView, rate_per_s: float | None) -> OfferedCell | None:
    if not rate_per_s:
        return None
    cells = (c for c in contender.offered if math.isclose(c.offered_rate_per_s, rate_per_s))
    return next(cells, None)


def _disturbed(trial: TrialView) -> bool:
    """Whether a gate failed that does not judge the server."""
    return any(gate.code not in SERVER_GATES for gate in trial.gates_failed)


def objective(view: RunView) -> str:
    """The objective as the user wrote it, such as `p99=10ms`."""
    return view.conclusion.slo or "the objective"


def capacity_statements(view: RunView) -> Iterator[Statement]:
    for result in capacities(view):
        text = capacity_text(result.capacity, objective(view), result.disturbed)
        yield Statement("capacity", f"{result.capacity.name}: {text}")


def capacity_text(capacity: Capacity, slo: str, disturbed: bool = False) -> str:
    """`8,951 requests/s held p99=10ms; 9,065 did not`.

    `disturbed` says that the machine disturbed every trial at the rate that did not hold.
    """
    if capacity.trials == 0:
        return f"not measured: {capacity.trouble}"
    trouble = f"; {capacity.trouble}" if capacity.trouble else ""
    above_per_s = capacity.above_per_s
    if capacity.rate_per_s == 0:
        lowest = "" if above_per_s is None else f", not even {numbers.rate(above_per_s)} requests/s"
        return f"no rate held {slo}{lowest}{trouble}"
    above = "" if above_per_s is None else f"; {numbers.rate(above_per_s)} did not"
    more = ", but the machine disturbed those trials: the server may hold more" if disturbed else ""
    return f"{numbers.rate(capacity.rate_per_s)} requests/s held {slo}{above}{more}{trouble}"


Measure = Literal["cost", "wait"]
WORDS: Mapping[Measure, str] = {"cost": "CPU time per request", "wait": "p99 response time"}
ACHIEVED = "achieved"
MOST_FAILED = 0.5  # of the trials: then a server does not hold a rate
ALONE, NO_INTERVAL = "no other server to compare with", "its interval is unknown"
REQUESTS_PER_PRICE = 1e6
AWAKE = (
    "idle CPUs were kept awake: no request waits until a CPU wakes up, and a machine that lets "
    "them sleep may answer later and use less power"
)
ASLEEP = (
    "idle CPUs slept: at a low rate, waking them is a part of the response time, and of the CPU "
    "time where the kernel counts it"
)


@dataclass(frozen=True, slots=True)
class RateStanding:
    """One contender at an offered rate, by one measure. Without a rank, `reason` says why."""

    contender: ContenderView
    cell: OfferedCell
    reached_per_s: float
    cores: float | None
    price_per_million: float | None
    row: Row | None
    reason: str | None

    @property
    def name(self) -> str:
        return self.contender.label or self.contender.name

    @property
    def times_least(self) -> Times | None:
        """How many times as much as the least of all; None without a rank."""
        if self.row is None:
            return None
        ratio = self.row.ratio_to_leader
        known = ratio.low > 0 and math.isfinite(ratio.high)
        low, high = (1 / ratio.high, 1 / ratio.low) if known else (None, None)
        return Times(1 / ratio.ratio, low, high)


@dataclass(frozen=True, slots=True)
class RateLevel:
    """One offered rate at a number of connections: two orders, from the least to the most."""

    offered_rate_per_s: float
    connections: int
    cost: tuple[RateStanding, ...]
    wait: tuple[RateStanding, ...]
    rankings: Mapping[Measure, Ranking | None]

    def by(self, measure: Measure) -> tuple[RateStanding, ...]:
        return self.cost if measure == "cost" else self.wait


def rate_levels(view: RunView) -> tuple[RateLevel, ...]:
    """By connections, then by rate, from the lowest; empty unless the run offered common rates."""
    cells = {
        contender.name: {
            (cell.connections, cell.offered_rate_per_s): cell
            for cell in contender.offered
            if cell.kind == COMMON_RATE
        }
        for contender in view.contenders
    }
    keys = sorted({key for own in cells.values() for key in own})
    return tuple(
        _level(view, {name: own[key] for name, own in cells.items() if key in own}, *key)
        for key in keys
    )


def _level(
    view: RunView, cells: Mapping[str, OfferedCell], connections: int, offered_per_s: float
) -> RateLevel:
    rankings = {measure: _ranking(view, cells, measure) for measure in WORDS}
    cost, wait = (_standings(view, cells, measure, rankings[measure]) for measure in WORDS)
    return RateLevel(offered_per_s, connections, cost, wait, rankings)


def _ranking(view: RunView, cells: Mapping[str, OfferedCell], measure: Measure) -> Ranking | None:
    """The ranking of those that hold the rate and are known by this measure; None below two."""
    values = {
        name: _values(cell, measure)
        for name, cell in cells.items()
        if _why_not(cell, measure) is None
    }
    places = {place_of(trial) for cell in cells.values() for trial in cell.trials}
    heats = max((heat for _, heat, _ in places), default=1)
    names = rankable({name: [*own] for name, own in values.items()}, len(places) / heats)
    share = 1.0
    while len(names) > 1:
        matrix = rate_matrix({name: values[name] for name in names}, places)
        ranking = rank(matrix, names, margin=view.margin, confidence=view.confidence, share=share)
        apart = without_interval(ranking)
        unknown = apart | {*ranking.unranked}
        if not unknown or len(unknown) >= len(names) - 1:
            return ranking
        names = [name for name in names if name not in unknown]
        share *= share_left(ranking, apart)
    return None


def _values(cell: OfferedCell, measure: Measure) -> dict[Place, float]:
    """Of each valid trial: requests per second of CPU time, or 1 / p99 in seconds."""
    us = {
        place_of(trial): trial.server_cpu_us_per_request
        if measure == "cost"
        else trial.response_us_p99
        for trial in cell.trials
        if trial.valid
    }
    return {place: 1e6 / value for place, value in us.items() if value}


def _why_not(cell: OfferedCell, measure: Measure) -> str | None:
    """Why a contender cannot rank by this measure at this rate; None if it can."""
    if not any(trial.measured for trial in cell.trials):
        return "none of its trials ended well"
    if _falls_behind(cell):
        return f"does not hold this rate: it reached {numbers.rate(_reached(cell))} requests/s"
    if not cell.trials_valid:
        trials = len(cell.trials)
        return f"none of its {trials:,} trials is valid" if trials > 1 else "its trial is not valid"
    if measure == "cost" and not _values(cell, measure):
        return "its CPU time is unknown"
    if measure == "wait" and cell.response["p99"] is None:
        return f"a p99 needs 10,000 requests, and it has {cell.response.requests:,}"
    if measure == "wait" and not _values(cell, measure):
        return "a trial has too few requests for a p99"
    return None


def _reached(cell: OfferedCell) -> float:
    """What a server that fell behind answered per second; of others, what was offered."""
    behind = [t.reached_per_s for t in _late(cell) if t.reached_per_s is not None]
    offered_per_s = cell.offered_rate_per_s
    if not behind or not _falls_behind(cell):
        return offered_per_s
    return min(statistics.median(behind), offered_per_s)


def _late(cell: OfferedCell) -> list[TrialView]:
    return [t for t in cell.trials if any(gate.code == ACHIEVED for gate in t.gates_failed)]


def _falls_behind(cell: OfferedCell) -> bool:
    return len(_late(cell)) > MOST_FAILED * sum(trial.measured for trial in cell.trials)


def _standings(
    view: RunView, cells: Mapping[str, OfferedCell], measure: Measure, ranking: Ranking | None
) -> tuple[RateStanding, ...]:
    contenders = {contender.name: contender for contender in view.contenders}
    unknown = without_interval(ranking) if ranking else frozenset()
    ranked = ranking.rows if ranking else ()
    rows = {row.name: row for row in ranked if row.name not in unknown}
    price = view.protocol.price_per_core_hour if isinstance(view.protocol, RateProtocol) else None

    def standing(name: str, cell: OfferedCell) -> RateStanding:
        reason = _why_not(cell, measure)
        if reason is None and name not in rows:
            reason = ALONE if ranking is None else NO_INTERVAL
        cpu_us = cell.server_cpu_us_per_request
        reached_per_s = _reached(cell)
        return RateStanding(
            contender=contenders[name],
            cell=cell,
            reached_per_s=reached_per_s,
            cores=None if cpu_us is None else cpu_us * reached_per_s / 1e6,
            price_per_million=None
            if cpu_us is None or price is None
            else cpu_us / 1e6 * REQUESTS_PER_PRICE / 3600 * price,
            row=rows.get(name),
            reason=reason,
        )

    standings = [standing(name, cell) for name, cell in cells.items()]
    order = {name: place for place, name in enumerate(rows)}
    return tuple(
        sorted(standings, key=lambda s: (order.get(s.contender.name, math.inf), -s.reached_per_s))
    )


@dataclass(frozen=True, slots=True)
class CommonCost:
    """CPU time per request at one offered rate, of the servers that hold it."""

    offered_rate_per_s: float
    cpu_us: Mapping[str, float]


def cost_of(view: RunView) -> CommonCost | None:
    """Of a run at common rates; the lowest is held by the most servers."""
    levels = rate_levels(view)
    if not levels:
        return None
    cells = {each.contender.name: each.cell for each in levels[0].cost if each.row is not None}
    costs_us = {name: cell.server_cpu_us_per_request for name, cell in cells.items()}
    return CommonCost(
        levels[0].offered_rate_per_s,
        {name: cpu_us for name, cpu_us in costs_us.items() if cpu_us is not None},
    )


def rate_answer(view: RunView) -> str | None:
    """What the lowest rate costs, in one sentence without its period; None for other runs."""
    levels = rate_levels(view)
    if not levels:
        return None
    level = levels[0]
    at = f"At {_rate_text(level)}"
    ranked = [each for each in level.cost if each.row is not None]
    if not ranked:
        return f"{at}, no comparison of CPU time has an interval"
    least = [each for each in ranked if each.row is not None and each.row.rank_low == 1]
    names = numbers.listing([each.name for each in least])
    cost = numbers.microseconds(ranked[0].cell.server_cpu_us_per_request)
    if len(least) == 1:
        return f"{at}, {names} needs the least CPU time: {cost} µs per request"
    return f"{at}, a dead heat for the least CPU time: {names}, about {cost} µs per request"


def rate_statements(view: RunView) -> Iterator[Statement]:
    """`KNOWN`, `OPEN` and `UNRANKED` of each rate and measure, and how idle CPUs slept."""
    for level in rate_levels(view):
        measures_of: dict[tuple[str, str], list[Measure]] = {}  # by reason and names
        for measure, ranking in level.rankings.items():
            yield from _pairs(view, ranking, f"{_rate_text(level)}, {WORDS[measure]}")
            names_by_reason: dict[str, list[str]] = {}
            for each in level.by(measure):
                if each.reason is not None:
                    names_by_reason.setdefault(each.reason, []).append(each.name)
            for reason, names in names_by_reason.items():
                measures_of.setdefault((reason, numbers.listing(names)), []).append(measure)
        for (reason, listed), measures in measures_of.items():
            by = "" if len(measures) == len(WORDS) else f", {WORDS[measures[0]]}"
            yield Statement("unranked", f"{_rate_text(level)}{by}: {listed}: {reason}")
    if rate_levels(view):
        yield Statement("idle CPUs", AWAKE if _is_awake(view) else ASLEEP)


def _pairs(view: RunView, ranking: Ranking | None, at: str) -> Iterator[Statement]:
    """Neighbors from the least to the most: the second needs so much more than the first."""
    for pair in ranking.neighbors if ranking else ():
        less, more = (shown_name(view, name) for name in (pair.faster, pair.slower))
        topic, sign, after = "known", "<", ""
        if pair.verdict is Verdict.EQUIVALENT:
            sign, after = "=", f", within {numbers.percent(ranking.margin if ranking else 0, 0)}"
        elif pair.verdict is Verdict.UNDECIDED:
            topic, sign = "open", "~"
        middle, interval = numbers.excess(pair.ratio.ratio, pair.ratio.low, pair.ratio.high)
        if interval is not None:
            ends = f"[{', '.join(interval)}]"
            yield Statement(topic, f"{at}: {less} {sign} {more}  +{middle} % {ends}{after}")


def open_command(view: RunView) -> str:
    """The command that decides the undecided pairs, or gives intervals; empty if none is open."""
    undecided = [
        pair
        for level in rate_levels(view)
        for ranking in level.rankings.values()
        for pair in (ranking.neighbors if ranking else ())
        if pair.verdict is Verdict.UNDECIDED
    ]
    names = dict.fromkeys(name for pair in undecided for name in (pair.faster, pair.slower))
    names |= dict.fromkeys(without_intervals(view))
    if not names:
        return ""
    rates = ",".join(
        f"{each:g}"
        for each in dict.fromkeys(level.offered_rate_per_s for level in rate_levels(view))
    )
    minutes = math.ceil(_time_s(view, undecided, len(names)) / MINUTE_S)
    return run_anew(view, list(names), ["--rate", rates, "--budget", f"{minutes}m"])


def without_intervals(view: RunView) -> tuple[str, ...]:
    """The contenders that hold a rate, and have no interval for too few trials."""
    standings = (each for level in rate_levels(view) for each in (*level.cost, *level.wait))
    unknown = [each.contender.name for each in standings if each.reason == NO_INTERVAL]
    return tuple(dict.fromkeys(unknown))


def _time_s(view: RunView, pairs: Sequence[Pair], contenders: int) -> float:
    """About what decides these pairs in a race of their servers alone; at most an hour or so."""
    race_s = view.race_s or BUDGET_S
    share = contenders / max(len(view.contenders), 1)
    times = [
        (pair.ratio.blocks + pair.effort.extra_blocks) / max(pair.ratio.blocks, 1)
        for pair in pairs
        if pair.effort is not None
    ]
    return min(max(race_s * share * max(times, default=2.0), 2 * MINUTE_S), reasonable_s(view))


def _rate_text(level: RateLevel) -> str:
    return f"{numbers.rate(level.offered_rate_per_s)} requests/s"


def _is_awake(view: RunView) -> bool:
    return bool(view.hosts) and all(
        host.fingerprint.cpu.idle.wake_up_us is not None for host in view.hosts
    )
