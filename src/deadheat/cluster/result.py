"""The result of a cluster run: one model for each level, over all pairs of hosts.

The record of the run is `cluster.json` in its folder, beside one bundle for each run.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from pydantic import ValidationError
from pydantic_core import to_json

from deadheat import __version__, numbers
from deadheat.errors import DeadheatError
from deadheat.foreign_text import one_line
from deadheat.home import write_whole
from deadheat.report.model.load import load_view
from deadheat.report.model.runs import columns, reading
from deadheat.report.model.sliced import SlicedLevel
from deadheat.report.model.view import RunView
from deadheat.stats.ranking.host_pairs import (
    HostPairRun,
    fit_host_pairs,
    host_pair_speeds,
    rank_over_host_pairs,
)
from deadheat.stats.ranking.ranks import Ranking
from deadheat.stats.ranking.ratio import RatioInterval
from deadheat.store.bundle import open_bundle
from deadheat.store.listing import run_ids
from deadheat.strict import JsonObject, Strict

FILE_NAME = "cluster.json"
RAY_CPU_SHARE_MAX = 0.01  # as for steal


class ClusterHost(Strict):
    """A host of the cluster; two of one address are one machine."""

    name: str
    address: str


class HostPair(Strict):
    """A server host and a load host, numbered from 1; `lost` says why it gets no further run."""

    number: int
    server: ClusterHost
    load: ClusterHost
    lost: str | None = None


class ClusterRun(Strict):
    """One run: where, of which contenders, and its bundle in the folder, if it has one.

    `ray_cpu` is Ray's share of the CPUs of each host that could be read, by its role: server, load,
    or both.
    """

    job: int
    attempt: int
    pair: int
    servers: tuple[str, ...]
    exit_code: int | None
    bundle: str | None
    error: str
    ray_cpu: dict[str, float]

    @property
    def counts(self) -> bool:
        """Whether its rates are ranked: Ray left the hosts alone."""
        return self.bundle is not None and not self.ray_was_busy

    @property
    def ray_was_busy(self) -> bool:
        return any(share > RAY_CPU_SHARE_MAX for share in self.ray_cpu.values())


class ClusterRecord(Strict):
    """A whole cluster run. `state` is running, complete, interrupted or failed.

    `words` are options of `deadheat run` for every run; `together` is how many servers race in
    one, besides the shared ones.
    """

    format: int = 1
    started_at: str
    state: str = "running"
    deadheat_version: str = __version__
    command: tuple[str, ...]
    words: tuple[str, ...] = ()
    together: int
    servers: tuple[str, ...]
    shared: tuple[str, ...]
    margin: float
    confidence: float
    pairs: tuple[HostPair, ...]
    left_over: tuple[ClusterHost, ...] = ()
    runs: tuple[ClusterRun, ...] = ()
    given_up: tuple[str, ...] = ()


def write_record(folder: Path, record: ClusterRecord) -> None:
    write_whole(folder / FILE_NAME, record.model_dump_json(indent=2) + "\n")


def read_record(folder: Path) -> ClusterRecord:
    """Raises `DeadheatError` if the folder has no readable record."""
    path = folder / FILE_NAME
    try:
        return ClusterRecord.model_validate_json(path.read_bytes())
    except OSError as error:
        fault = error.strerror
    except ValidationError as error:
        first = error.errors()[0]
        fault = ": ".join([*map(str, first["loc"]), first["msg"]])
    raise DeadheatError(f"{path}: {fault}", "name a folder that `deadheat cluster run` wrote")


Part = tuple[ClusterRun, RunView, SlicedLevel]  # a level of a run that counts


@dataclass(frozen=True, slots=True)
class CombinedLevel:
    """One level over all pairs of hosts.

    `speeds` has the speed of each pair over that of the first, by its number. `pairs_of` has the
    numbers of the pairs on which each contender ran and counts. `limited` names contenders that
    outran the client on some pair; these rates are left out.
    """

    workload: str
    connections: int
    ranking: Ranking
    speeds: Mapping[int, RatioInterval]
    runs_of: Mapping[int, int]  # by the pair's number
    interaction_sd: float
    interaction_degrees: float
    pairs_of: Mapping[str, tuple[int, ...]]
    limited: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Combined:
    """A cluster run as it is reported; `faults` say why a server cannot be compared."""

    record: ClusterRecord
    levels: tuple[CombinedLevel, ...]
    faults: Mapping[str, str]


def combine(folder: Path, record: ClusterRecord) -> Combined:
    """Read the bundles that count, and fit them. Raises `DeadheatError` for one it cannot read."""
    parts: dict[tuple[str, int], list[Part]] = {}
    faults: dict[str, str] = {}
    for run in (run for run in record.runs if run.counts):
        for view in _views(folder / str(run.bundle)):
            faults |= {each.name: each.fault for each in view.contenders if each.fault}
            for connections, sliced in view.sliced.items():
                parts.setdefault((view.workload, connections), []).append((run, view, sliced))
    levels = (_level(record, *key, parts[key]) for key in sorted(parts))
    return Combined(record, tuple(level for level in levels if level is not None), faults)


def measured_names(bundle: Path) -> set[str]:
    """The contenders with an interval at every level of the run in a bundle."""
    measured = []
    for view in _views(bundle):
        for connections, sliced in view.sliced.items():
            places = {name: place for place, name in enumerate(sliced.names)}
            run = pair_run(0, sliced, places, view.client_gates.get(connections, {}))
            names = {sliced.names[place] for place in run.linked().contender}
            measured.append(names if len(names) > 1 else set())
    return set.intersection(*measured) if measured else set()


def _views(bundle: Path) -> tuple[RunView, ...]:
    """The run of a bundle, once for each workload."""
    with open_bundle(bundle) as store, reading(bundle):
        return tuple(load_view(store, run_ids(store)[0]).by_workload)


def _level(
    record: ClusterRecord, workload: str, connections: int, parts: Sequence[Part]
) -> CombinedLevel | None:
    names = tuple(dict.fromkeys(name for _, _, sliced in parts for name in sliced.names))
    places = {name: place for place, name in enumerate(names)}
    numbers = [run.pair for run, _, _ in parts]
    pairs = sorted({*numbers})
    limited = [view.client_gates.get(connections, {}) for _, view, _ in parts]
    runs = [
        pair_run(pairs.index(run.pair), sliced, places, outran)
        for (run, _, sliced), outran in zip(parts, limited, strict=True)
    ]
    if (fit := fit_host_pairs(runs, len(names), len(pairs))) is None:
        return None
    controls = {control.name for _, view, _ in parts for control in view.controls}
    ranking = rank_over_host_pairs(
        fit, names, margin=record.margin, confidence=record.confidence, controls=controls
    )
    return CombinedLevel(
        workload,
        connections,
        ranking,
        speeds=dict(zip(pairs, host_pair_speeds(fit, record.confidence), strict=True)),
        runs_of={number: numbers.count(number) for number in pairs},
        interaction_sd=fit.interaction_sd,
        interaction_degrees=fit.interaction_degrees,
        pairs_of={
            name: tuple(sorted({run.pair for run, _, sliced in parts if name in sliced.names}))
            for name in names
        },
        limited=tuple(sorted({name for outran in limited for name in outran})),
    )


def pair_run(
    host_pair: int, sliced: SlicedLevel, places: Mapping[str, int], limited: Collection[str]
) -> HostPairRun:
    """A run's model, without contenders that outran the client."""
    kept = [n for n, name in enumerate(sliced.names) if name not in limited]
    estimate, square = sliced.fit.estimate, np.ix_(kept, kept)
    return HostPairRun(
        host_pair=host_pair,
        contender=np.array([places[sliced.names[n]] for n in kept], dtype=np.int64),
        log_rate=estimate.log_rate[kept],
        variance=estimate.variance[square],
        degrees_of_freedom=estimate.degrees_of_freedom[square],
        witness_gap=sliced.fit.witness_gap[kept],
        silent_gap=sliced.fit.silent_gap[kept],
    )


def document(combined: Combined) -> JsonObject:
    """The record as in `cluster.json`, with the levels; an unknown end of an interval is null."""
    levels = [
        {each.name: getattr(level, each.name) for each in fields(level)}
        | {
            "ranking": level.ranking.rows,
            "unranked": level.ranking.unranked,
            "comparisons": level.ranking.neighbors,
            "minimum_detectable_effect": level.ranking.minimum_detectable_effect,
        }
        for level in combined.levels
    ]
    whole = {**combined.record.model_dump(), "faults": combined.faults, "levels": levels}
    values: JsonObject = json.loads(to_json(whole, inf_nan_mode="null"))
    return values


def text(combined: Combined) -> str:
    """The result of each level, then the runs, and what does not count."""
    record = combined.record
    counts = [(record.servers, "server"), (record.pairs, "pair"), (record.runs, "run")]
    servers, pairs, runs = (numbers.count(len(each), noun) for each, noun in counts)
    state = f"; the cluster run is {record.state}" if record.state != "complete" else ""
    lines = [f"{servers} on {pairs} of hosts, {runs}{state}", ""]
    for level in combined.levels:
        lines += [*_level_lines(record, level), ""]
    if not combined.levels:
        lines += ["nothing can be compared: no run that counts has two contenders", ""]
    return "\n".join([*lines, *_run_lines(record), *_remarks(combined)]) + "\n"


def _level_lines(record: ClusterRecord, level: CombinedLevel) -> Iterator[str]:
    yield f"{level.workload}, {level.connections} connections"
    rows = [("rank", "server", "req/s", "% of fastest", "interval", "pairs")]
    for row in level.ranking.rows:
        pairs = ", ".join(map(str, level.pairs_of[row.name]))
        where = "all" if row.name in record.shared else pairs
        share = f"{100 * row.ratio_to_leader.ratio:.1f}"
        rate = numbers.rate(row.rate_median)
        interval = _interval(row.ratio_to_leader)
        rows.append((row.rank, one_line(row.name), rate, share, interval, where))
    yield from columns(rows, right=(2, 3))
    for group in level.ranking.dead_heats:
        yield f"dead heat: {numbers.listing([one_line(name) for name in group])}"
    if level.limited:
        yield f"left out, they outran the client: {_names(level.limited)}"
    confidence = numbers.percent(record.confidence, 0)
    yield f"rates are those at the mean of the pairs; intervals hold jointly at {confidence}"
    if len(level.speeds) == 1:
        yield "one pair of hosts: ratios hold for this pair"
    elif level.interaction_degrees == 0:
        yield "no interval across pairs: fewer than two contenders count on several pairs"
    else:
        yield (
            "a pair of hosts changes the rate of one contender alone by "
            f"{numbers.percent(level.interaction_sd)} (standard deviation, "
            f"{level.interaction_degrees} degrees of freedom); the intervals contain this"
        )
    yield ""
    speeds = [("pair", "runs", "speed", "interval")]
    for number, ratio in level.speeds.items():
        interval = "the others are compared with it" if ratio.low == 1 else _interval(ratio)
        speed = numbers.percent(ratio.ratio)
        speeds.append((str(number), str(level.runs_of[number]), speed, interval))
    yield from columns(speeds, right=(1, 2))


def _run_lines(record: ClusterRecord) -> list[str]:
    """A row for each run: where, of whom, and what Ray used of its hosts."""
    rows = [("pair", "server host", "load host", "run", "Ray's CPU", "servers")]
    for number, run in enumerate(record.runs, 1):
        pair = record.pairs[run.pair - 1]
        server, load = (one_line(f"{h.name} {h.address}") for h in (pair.server, pair.load))
        shares = [f"{role} {numbers.percent(share, 2)}" for role, share in run.ray_cpu.items()]
        ray_cpu = (", ".join(shares) or numbers.NONE) + " !" * run.ray_was_busy
        hosts = (server, "the same" if load == server else load)
        servers = _names(run.servers) or "the shared ones alone"
        rows.append((str(run.pair), *hosts, str(number), ray_cpu, servers))
    return columns(rows, right=(3, 4))


def _remarks(combined: Combined) -> Iterator[str]:
    record = combined.record
    yield f"on every pair: {_names(record.shared)}, and the controls"
    for number, run in enumerate(record.runs, 1):
        if run.bundle is None:
            yield f"! run {number} stored nothing: {one_line(run.error or 'a host died')}"
        elif not run.counts:
            most = numbers.percent(RAY_CPU_SHARE_MAX)
            yield f"! run {number} is not ranked: Ray used more than {most} of a host's CPUs"
        elif not run.ray_cpu:
            yield f"! run {number}: Ray's CPU time is not known"
    for pair in record.pairs:
        if pair.lost is not None:
            yield f"! pair {pair.number} was lost: {one_line(pair.lost)}"
    used = [address for p in record.pairs for address in {p.server.address, p.load.address}]
    if machines := sorted({address for address in used if used.count(address) > 1}):
        yield f"! several pairs share a machine and disturb each other: {', '.join(machines)}"
    for host in record.left_over:
        yield f"! host {one_line(host.name)} had no partner, and ran nothing"
    for name, fault in combined.faults.items():
        yield f"! {one_line(name)} did not run: {one_line(fault)}"
    if record.given_up:
        yield f"! not measured: {_names(record.given_up)}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(one_line, names))


def _interval(ratio: RatioInterval) -> str:
    if not numbers.is_known(ratio.low, ratio.high):
        return numbers.UNKNOWN
    return f"[{100 * ratio.low:.1f}, {100 * ratio.high:.1f}]"
