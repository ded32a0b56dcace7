"""What a run will do: how long a race takes, by stated assumptions; and for servers that run alone,
who stands for which published row, and every trial in order.

Manifests assign rows with `[[published]]`; a protocol assigns the rest.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from types import MappingProxyType

from deadheat import numbers
from deadheat.campaign.past import Past
from deadheat.campaign.resolve import FEWEST_INSTANCES, slice_s
from deadheat.catalog import Catalog, Selection, selection
from deadheat.measure.contender import CONTROL_WORKS, NULL_SERVER
from deadheat.measure.warm_up import LIMIT_S
from deadheat.protocol import AloneProtocol, RateProtocol, Restart, Settle, SliceProtocol, Warmup
from deadheat.protocol.figures import PublishedFigures
from deadheat.stats.warmup.warm_rule import BUDGET_S, Compiler
from deadheat.strict import JsonObject
from deadheat.workload import parts_of

START_S = 2.0  # time until one server is ready
# Warm-up on each workload, as it was on machines with two CPUs: in races of 24 servers on seven
# workloads, first starts took 1 to 4 s, 6 to 8 s (Node.js, Bun) and 8 to 14 s (the JVM; 20 s with
# TLS).
WARM_S = {Compiler.NONE: 2.0, Compiler.JIT: 7.0, Compiler.TIERED: 14.0}
# Where a request takes long, so does a slice: it has several requests of each connection.
SLOW_SLICES = {"page": 5.0, "wait": 5.0}
NOMINAL_PER_S = 1e6


@dataclass(frozen=True, slots=True)
class Estimate:
    """What would run. `least_s` is the shortest duration; `most_s` the longest that is allowed.

    With a shorter budget than `useful_s`, not every contender gets an interval.
    """

    protocol: str
    about: str
    contenders: tuple[str, ...]
    connections: tuple[int, ...]
    workloads: tuple[str, ...]
    trials_per_block: int
    block_s: float
    invocation_start_s: float
    least_blocks: int
    least_s: float
    most_s: float
    useful_s: float
    rule: str

    def to_json(self) -> JsonObject:
        return asdict(self)

    def lines(self) -> list[str]:
        levels = ", ".join(map(str, self.connections))
        return [
            f"{self.protocol}: {self.about}",
            f"contenders    {', '.join(self.contenders)}",
            f"connections   {levels}",
            f"each block    {self.trials_per_block} trials, about {self.block_s:.0f} s",
            f"starting all  about {self.invocation_start_s:.0f} s, with warm-up",
            f"ends          {self.rule}",
            f"takes         {numbers.duration(self.least_s)} at least, "
            f"{numbers.duration(self.most_s)} at most, without builds",
            *([f"WARNING       {self.too_short}"] if self.too_short else []),
        ]

    @property
    def too_short(self) -> str | None:
        """What is wrong with the budget; None if it may be enough."""
        if self.most_s >= self.useful_s:
            return None
        parts = [parts_of(name) for name in self.contenders]
        transports = list(dict.fromkeys(transport for _, transport in parts))
        over = f" over {numbers.listing(transports)}" if len(transports) > 1 else ""
        servers = numbers.count(len({name for name, _ in parts}), "server")
        return (
            f"--budget {numbers.duration(self.most_s)} is too short for {servers}{over}, each "
            f"started twice: to start and warm up all takes about "
            f"{numbers.duration(self.invocation_start_s)}; "
            f"expected about {numbers.duration(self.useful_s)} or more"
        )


def estimate(
    protocol: SliceProtocol,
    names: Sequence[str],
    lacking: Sequence[str] = (),
    compilers: Mapping[str, Compiler] = MappingProxyType({}),
) -> Estimate:
    """Estimate from the protocol's figures and the constants above.

    A server has a name for each transport. `lacking` has an entry for each workload that one of
    the contenders does not answer. `compilers` are those of the servers of the catalog.
    """
    if isinstance(protocol, RateProtocol):
        protocol = protocol.resolved(NOMINAL_PER_S)  # only the number of rates counts
    stopping, warmup = protocol.stopping, protocol.warmup
    controls = len(CONTROL_WORKS) * len(protocol.transports) if protocol.controls else 0
    contenders = len(names) + controls
    answered = Counter([*protocol.requested] * contenders) - Counter(lacking)
    levels = protocol.levels_each // len(protocol.requested)  # of a workload
    trials = answered.total() * levels
    slices = sum(SLOW_SLICES.get(name, 1.0) * count for name, count in answered.items()) * levels
    block_s = slices * protocol.slices.rounds * slice_s(protocol)
    warm_ups = [_warm_s(warmup, compilers.get(name)) for name in names]
    warm_ups += [_warm_s(warmup, None)] * controls
    starts_s = [
        [START_S + warm_s * len(protocol.requested) for warm_s in each] for each in warm_ups
    ]
    usual_s = [each_s for _, each_s, _ in starts_s]
    start_s, own_s = math.fsum(usual_s), math.fsum(usual_s[: len(names)])
    useful_s = float(round(start_s + own_s + FEWEST_INSTANCES * block_s))
    least_blocks = stopping.invocations if isinstance(stopping, Settle) else stopping.repetitions
    least_s, longest_s = (
        stopping.invocations * math.fsum(each[at] for each in starts_s) + least_blocks * block_s
        for at in (0, 2)
    )
    if isinstance(protocol, RateProtocol):
        least_s = most_s = stopping.time_limit_s
        rule = f"after {numbers.duration(most_s)}, with one look at all that was measured"
    elif isinstance(stopping, Settle):
        most_s = stopping.budget_s
        rule = (
            f"when every neighboring pair is separated or equivalent within "
            f"{numbers.percent(stopping.margin, 0)}, or after {numbers.duration(stopping.budget_s)}"
        )
    else:
        most_s = longest_s
        rule = f"after {stopping.repetitions} repetitions"
    return Estimate(
        protocol=protocol.label,
        about=protocol.about,
        contenders=tuple(names),
        connections=protocol.connections,
        workloads=protocol.workload_names,
        trials_per_block=trials,
        block_s=block_s,
        invocation_start_s=start_s,
        least_blocks=least_blocks,
        least_s=min(least_s, most_s),
        most_s=most_s,
        useful_s=useful_s if isinstance(stopping, Settle) else 0.0,
        rule=rule,
    )


def _warm_s(warmup: Warmup, compiler: Compiler | None) -> tuple[float, float, float]:
    """How long an instance warms up on a workload: at least, usually, at most. None: not known."""
    if warmup.kind != "steady":
        warm_s = warmup.duration_s if warmup.kind == "fixed" else 0.0
        return warm_s, warm_s, warm_s
    scale = warmup.limit_s / LIMIT_S
    longest_s = max(scale * BUDGET_S[compiler or Compiler.NONE], warmup.least_s)
    usual_s = min(scale, 1.0) * WARM_S[compiler] if compiler else 0.0
    return warmup.least_s, min(max(usual_s, warmup.least_s), longest_s), longest_s


TRIAL_OVERHEAD_S = 0.25  # start of the generator, connecting, draining
PROCESSES: Mapping[Restart, str] = {
    "never": "one process for all",
    "level": "a process for each level",
    "repetition": "a process for each trial",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One trial; `starts` if a fresh process precedes it."""

    connections: int
    repetition: int  # of its level, from 1
    starts: bool


def restart_of(protocol: AloneProtocol, label: str | None) -> Restart:
    """The restart policy of a contender: that of its published row, or the protocol's."""
    return protocol.restarts.get(label or "", protocol.restart)


def schedule(
    protocol: AloneProtocol, label: str | None = None, done: Collection[tuple[int, int]] = ()
) -> Iterator[Step]:
    """All repetitions of each level, level by level; `label` is the published row, if any.

    `done` lists steps to leave out, by connections and repetition. A fresh process precedes the
    first step.
    """
    restart = restart_of(protocol, label)
    last: int | None = None  # the level of the step before
    for connections in protocol.connections:
        for repetition in range(1, protocol.stopping.repetitions + 1):
            if (connections, repetition) in done:
                continue
            restarts = restart == "repetition" or (restart == "level" and connections != last)
            yield Step(connections, repetition, last is None or restarts)
            last = connections


def steps_left(
    protocol: AloneProtocol, labels: Mapping[str, str], name: str, past: Past
) -> Iterator[Step]:
    """The remaining steps of a contender, including failed trials.

    A series with recoveries needs one process, so a series that has begun does not continue.
    """
    if protocol.recovery is not None and any(contender == name for contender, _ in past.trials):
        return iter(())
    own = [trial for contender, trial in past.measured if contender == name]
    done = {(trial.connections, trial.block) for trial in own if trial.state == "ok"}
    return schedule(protocol, labels.get(name), done)


@dataclass(frozen=True, slots=True)
class Outline:
    """Every trial in order, its published row, and the duration of all without builds."""

    protocol: AloneProtocol
    labels: Mapping[str, str]  # contender -> published row
    steps: Mapping[str, Sequence[Step]]  # the trials of each contender
    missing: Mapping[str, str]  # published row -> why it has no trial
    remarks: tuple[str, ...]  # differences between this machine and the protocol
    least_s: float
    most_s: float

    def to_json(self) -> JsonObject:
        return {
            "label": self.protocol.label,
            "contenders": dict(self.labels),
            "trials": [
                {"contender": name, **asdict(step)}
                for name, steps in self.steps.items()
                for step in steps
            ],
            "missing": dict(self.missing),
            "remarks": list(self.remarks),
            "least_s": self.least_s,
            "most_s": self.most_s,
        }

    def lines(self) -> list[str]:
        protocol, every = self.protocol, [*chain(*self.steps.values())]
        lines = [
            f"{protocol.label}: {protocol.about}",
            f"alone         {len(every)} trials of {protocol.duration_s:g} s, "
            f"{sum(step.starts for step in every)} starts, {protocol.generator}",
        ]
        for name, steps in self.steps.items():
            row = self.labels.get(name)
            restart = PROCESSES[restart_of(protocol, row)]
            lines.append(f"{row or name}{f' ({name})' if row else ''}: {restart}")
            for connections in protocol.connections:  # `*` is before a fresh process
                at_level = [step for step in steps if step.connections == connections]
                numbered = [f"{'*' * step.starts}{step.repetition}" for step in at_level]
                lines.append(f"  {connections:>6} connections   {' '.join(numbered)}")
        if self.missing:
            lines.append(f"missing       {len(self.missing)} published rows have no trial")
            lines += [f"  {row:40} {reason}" for row, reason in self.missing.items()]
        lines += [f"note          {remark}" for remark in (*protocol.notes, *self.remarks)]
        most = f", {numbers.duration(self.most_s)} at most" if self.most_s > self.least_s else ""
        return [*lines, f"takes         {numbers.duration(self.least_s)}{most}, without builds"]


def outline(
    protocol: AloneProtocol,
    names: Sequence[str],
    labels: Mapping[str, str],
    missing: Mapping[str, str],
    remarks: Sequence[str] = (),
) -> Outline:
    """The outline of a protocol; `names` are contenders in the order in which they run."""
    contenders = [*([NULL_SERVER] if protocol.controls else []), *names]
    steps = {name: [*schedule(protocol, labels.get(name))] for name in contenders}
    every = [*chain(*steps.values())]
    trial_s = protocol.duration_s + protocol.discard_s + TRIAL_OVERHEAD_S
    warm_s = protocol.warmup.duration_s if protocol.warmup.kind == "fixed" else 0.0
    starting_s = sum(step.starts for step in every) * (START_S + warm_s)
    least_s = starting_s + len(every) * trial_s
    most_s = least_s
    if (rule := protocol.recovery) is not None:
        least_s += len(every) * rule.probe_s
        most_s += len(every) * (rule.limit_s + rule.probe_s)
    return Outline(protocol, labels, steps, missing, tuple(remarks), least_s, most_s)


@dataclass(frozen=True, slots=True)
class Lineup:
    """Contenders in the order of the published rows, and rows without a contender."""

    selections: tuple[Selection, ...]
    labels: Mapping[str, str]  # contender -> published row
    missing: Mapping[str, str]  # published row -> why it has no contender
    strays: tuple[str, ...]  # rows of manifests that the figures do not have


def line_up(
    protocol: AloneProtocol,
    catalog: Catalog,
    figures: PublishedFigures,
    only: Collection[str] | None = None,
) -> Lineup:
    """The contender of every published row, limited to the servers in `only` if given.

    A row may have two contenders, and both run. A contender has one row.
    """
    labels: dict[str, str] = {}
    selections: dict[str, Selection] = {}
    missing = dict.fromkeys(figures.rows, "no server here")
    strays = []
    for row, claim in _claims(protocol, catalog):
        if isinstance(claim, str):
            missing[row] = claim
        elif row not in figures.rows:
            strays.append(f"{claim.name}: {figures.name} has no row {row!r}")
        elif claim.name in labels:
            missing[row] = f"{claim.name} already has row {labels[claim.name]!r}"
        else:
            labels[claim.name], selections[claim.name] = row, claim
    if only is not None:
        for name in [name for name, s in selections.items() if s.server.name not in only]:
            missing[labels.pop(name)] = f"{name} is not selected"
            del selections[name]
    with_contender = set(labels.values())
    place = {row: number for number, row in enumerate(figures.rows)}
    order = sorted(selections, key=lambda name: (place[labels[name]], name))
    return Lineup(
        selections=tuple(selections[name] for name in order),
        labels={name: labels[name] for name in order},
        missing={row: missing[row] for row in figures.rows if row not in with_contender},
        strays=tuple(strays),
    )


def _claims(protocol: AloneProtocol, catalog: Catalog) -> Iterator[tuple[str, Selection | str]]:
    """Published rows with their contender, or why there is none; those of the protocol first."""
    for entry in protocol.contenders:
        row = entry.label or entry.server
        if server := catalog.find(entry.server):
            yield row, selection(server, entry.setting, entry.workers)
        elif entry.server in catalog.faults:
            yield row, f"{entry.server} cannot be read"
        else:
            yield row, f"no server {entry.server}"
    if protocol.origin is None:
        return
    for server in catalog.all_servers.values():
        for published in server.manifest.published:
            if published.protocol == protocol.origin.figures:
                yield published.row, selection(server, published.setting)
