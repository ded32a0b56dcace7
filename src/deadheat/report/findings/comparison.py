"""Two runs compared, or two contenders of one run: lines of text, and data.

Two runs may differ because they were made differently: in machine, versions, protocol, contenders.

Rates beside a ratio are of the same trials, and means whose ratio is near the printed one: a median
beside a ratio of geometric means may contradict it, such as 4,708 and 5,045 beside 1.165.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import geometric_mean
from typing import Any

import numpy as np

from deadheat import numbers
from deadheat.errors import DeadheatError, UsageFault
from deadheat.foreign_text import one_line
from deadheat.measure.contender import REFERENCE
from deadheat.protocol import StoredProtocol
from deadheat.report.findings.analysis import LevelAnalysis, analyze, cells_at, valid_rates
from deadheat.report.findings.footprint import (
    FootprintChange,
    footprint_changes,
    is_asked,
    memory_refusal,
)
from deadheat.report.findings.versus import versus
from deadheat.report.model.view import Cell, ContenderView, RunView
from deadheat.stats.agreement import Agreement, compare
from deadheat.stats.distributions import Floats
from deadheat.stats.ranking.alpha_spending import ErrorLevel
from deadheat.stats.ranking.change import UnpairedChange, change, relative_changes
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.pairs import rate_matrix
from deadheat.stats.ranking.ranks import Pair
from deadheat.strict import JsonObject, finite
from deadheat.workload import Level

MIN_NAME_WIDTH = 24
INDENT = "  "


def agreements(first: RunView, second: RunView) -> dict[int, Agreement | None]:
    """Agreement by connection level, for the levels in both runs.

    None where one of the two has no ranking there, or fewer than two contenders are in both.
    """
    first_levels, second_levels = (
        {level.connections: level for level in analyze(view).levels} for view in (first, second)
    )
    return {
        connections: _agreement(level, second_levels[connections])
        for connections, level in first_levels.items()
        if connections in second_levels
    }


def _agreement(first: LevelAnalysis, second: LevelAnalysis) -> Agreement | None:
    if first.ranking is None or second.ranking is None:
        return None
    try:
        return compare(first.ranking, second.ranking)
    except ValueError:
        return None


def paired_rates(a: Cell, b: Cell) -> tuple[float | None, float | None]:
    """Requests/s of two contenders: the model's, else geometric means over their common blocks.

    Without a common block, each has the mean of its own trials.
    """
    if a.model_rate_per_s is not None and b.model_rate_per_s is not None:
        return a.model_rate_per_s, b.model_rate_per_s
    rates_a, rates_b = valid_rates(a), valid_rates(b)
    common = rates_a.keys() & rates_b.keys()
    if not common:
        return mean_rate(a), mean_rate(b)
    return (
        geometric_mean(rates_a[place] for place in common),
        geometric_mean(rates_b[place] for place in common),
    )


def mean_rate(cell: Cell) -> float | None:
    """The geometric mean of the trials behind the figures, in requests/s.

    Each invocation counts once, as in the ratio of two runs.
    """
    by_invocation: dict[int, list[float]] = {}
    for trial in cell.counted:
        if trial.rate_per_s is not None:
            by_invocation.setdefault(trial.invocation, []).append(trial.rate_per_s)
    return geometric_mean(map(geometric_mean, by_invocation.values())) if by_invocation else None


def changes(first: RunView, second: RunView, connections: int) -> dict[str, UnpairedChange]:
    """The change of each contender and control that has a rate in both runs.

    All intervals hold jointly at 95 %. The invocation is the unit (see `stats.unpaired`).
    """
    sides = [_rates(view, connections) for view in (first, second)]
    names = [name for name in sides[0] if name in sides[1]]
    alpha = ErrorLevel(comparisons=max(len(names), 1)).alpha
    return {name: change(sides[0][name], sides[1][name], alpha) for name in names}


def changes_beside_the_others(
    first: RunView, second: RunView, connections: int
) -> dict[str, UnpairedChange]:
    """The change of each contender of both runs, beside the others of both.

    Empty unless both are races in slices with two contenders in common. All intervals hold jointly
    at 95 % (see `stats.relative_change`).
    """
    if connections not in first.sliced or connections not in second.sliced:
        return {}
    levels = (first.sliced[connections], second.sliced[connections])
    contenders = {contender.name for contender in first.contenders}
    names = [name for name in levels[0].names if name in levels[1].names and name in contenders]
    if len(names) < 2:
        return {}
    fits = [level.fit.estimate for level in levels]
    places = [np.array([level.names.index(name) for name in names]) for level in levels]
    alpha = ErrorLevel(comparisons=len(names)).alpha
    relative = relative_changes(fits[0], fits[1], (places[0], places[1]), alpha)
    return dict(zip(names, relative, strict=True))


def table(
    first: RunView,
    second: RunView,
    connections: int,
    all_changes: Mapping[str, UnpairedChange],
    beside: Mapping[str, UnpairedChange],
) -> list[str]:
    """A line for each contender and control, and one on the machine."""
    cells = [cells_at(view, connections) for view in (first, second)]
    controls = {control.name for control in first.controls}
    width = max([MIN_NAME_WIDTH, *map(len, all_changes)])
    last = "beside the others [95 %]" if beside else "second / first [95 %]"
    ratio_head = f"{'ratio':>7}  " if beside else ""
    rates = "requests/s" if beside else "mean requests/s"
    lines = [f"{rates:{width}} {'first':>10} {'second':>10}  {ratio_head}{last}"]
    for name, ratio in all_changes.items():
        before, after = (
            _rate(view, by_name[name]) for view, by_name in zip((first, second), cells, strict=True)
        )
        line = f"{name:{width}} {numbers.rate(before):>10} {numbers.rate(after):>10}"
        if not beside:
            lines.append(f"{line}  {ratio_text(ratio)}")
            continue
        shown_ratio = after / before if before and after else ratio.ratio
        unmodeled = "a control" if name in controls else "not in the models of both runs"
        relative = ratio_text(beside[name]) if name in beside else unmodeled
        lines.append(f"{line}  {shown_ratio:>7.3f}  {relative}")
    if REFERENCE in all_changes:
        lines.append(_machine(all_changes[REFERENCE]))
    return lines


def ratio_text(ratio: UnpairedChange) -> str:
    if not numbers.is_known(ratio.low, ratio.high):
        return f"{ratio.ratio:.3f}, no useful interval: too few fresh starts"
    return f"{ratio.ratio:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"


def _rate(view: RunView, cell: Cell) -> float | None:
    """As in the report of the run; for a race of trials the mean, as its ratio is one of means."""
    is_sliced = cell.connections in view.sliced
    return cell.rate_per_s(view.aggregate) if is_sliced else mean_rate(cell)


def _machine(of_reference: UnpairedChange) -> str:
    if not numbers.is_known(of_reference.low, of_reference.high):
        return (
            f"{REFERENCE} is a control that never changes; it had too few starts to say whether "
            "the machine changed"
        )
    if of_reference.known:
        return (
            f"{REFERENCE} is a control that never changes, but its rate did: the machine changed, "
            "which affects every row"
        )
    return (
        f"{REFERENCE} is a control that never changes, and its rate did not either: no change of "
        "the machine detected"
    )


def _rates(view: RunView, connections: int) -> dict[str, Floats]:
    """rates[invocation, block] by name, of those with a valid trial."""
    cells = cells_at(view, connections)
    by_name = {name: own for name, cell in cells.items() if (own := valid_rates(cell))}
    rates = rate_matrix(by_name, {place for by_place in by_name.values() for place in by_place})
    return {name: rates[:, :, index] for index, name in enumerate(by_name)}


@dataclass(frozen=True, slots=True)
class LevelChanges:
    """One level of two runs: the agreement of their ranks, and the change of each contender."""

    agreement: Agreement | None
    changes: Mapping[str, UnpairedChange]
    changes_beside_the_others: Mapping[str, UnpairedChange]


@dataclass(frozen=True, slots=True)
class RunChanges:
    """What changed between two runs."""

    levels: Mapping[str, LevelChanges]
    footprint: tuple[FootprintChange, ...]
    differences: tuple["Difference", ...]

    def to_json(self) -> JsonObject:
        return finite(asdict(self))


def two_runs(first: RunView, second: RunView) -> tuple[list[str], RunChanges]:
    """Rank agreement, the change of each contender, and differences in setup: lines, and data.

    Raises `DeadheatError` for runs without a workload in common.
    """
    sides = [{view.workload: view for view in run.by_workload} for run in (first, second)]
    common = [name for name in sides[0] if name in sides[1]]
    if not common:
        raise DeadheatError(
            f"run {first.run_id} measured the workload {', '.join(sides[0])}, "
            f"run {second.run_id} {', '.join(sides[1])}: their rates are not of the same requests",
            "compare two runs of one workload",
        )
    lines = [f"{first.run_id} and {second.run_id}", _apart(first, second)]
    lines += [
        f"not compared, because one run alone measured it: the workload {name}"
        for name in dict.fromkeys([*sides[0], *sides[1]])
        if name not in common
    ]
    levels = {}
    for name in common:
        before, after = (side[name] for side in sides)
        for connections, agreement in agreements(before, after).items():
            all_changes = changes(before, after, connections)
            beside = changes_beside_the_others(before, after, connections)
            lines.append(f"at {_at(name, connections)}")
            texts = table(before, after, connections, all_changes, beside)
            lines += [INDENT + line for line in (*_agreement_lines(agreement), *texts)]
            levels[Level(name, connections).short] = LevelChanges(agreement, all_changes, beside)
    if not levels:
        lines.append("no connection level is in both runs")
    taken = footprint_changes(first, second)
    lines += _footprint_lines(first, second, taken)
    setup = differences(first, second)
    lines.append("differences in setup" if setup else "no difference in the stored setup")
    lines += [f"{INDENT}{item.what}: {item.first} → {item.second}" for item in setup]
    return lines, RunChanges(levels, tuple(taken), setup)


def _footprint_lines(
    first: RunView, second: RunView, taken: Sequence[FootprintChange]
) -> Iterator[str]:
    """A line for each figure of two runs of `deadheat footprint`; of races, for those that differ.

    Memory is compared only if it means the same in both runs.
    """
    if not taken:
        return
    yield "footprint, means over starts and half widths of their intervals"
    width = max([MIN_NAME_WIDTH, *(len(each.name) for each in taken)])
    asked = is_asked(first) and is_asked(second)
    for each in taken:
        if each.agree and not asked:
            continue
        unit = 1.0 if each.figure.endswith(", s") else 1024.0
        figure = each.figure.replace("bytes", "KiB")
        before, after = (
            f"{numbers.figure(side.mean / unit)} "
            f"[{numbers.figure((side.mean - (side.low or 0.0)) / unit)}]"
            for side in (each.first, each.second)
        )
        verdict = "agree" if each.agree else "differ"
        yield f"{INDENT}{each.name:{width}} {figure:16} {before:>20} {after:>20}  {verdict}"
    agreeing = sum(each.agree for each in taken)
    if agreeing and not asked:
        yield f"{INDENT}agree: {agreeing:,} of {numbers.count(len(taken), 'figure')}"
    if (refusal := memory_refusal(first, second)) is not None:
        yield f"{INDENT}{refusal}"


def _apart(first: RunView, second: RunView) -> str:
    """How far apart in time, and what that adds to a difference."""
    apart_s = abs((second.started_at - first.started_at).total_seconds())
    return (
        f"begun {numbers.duration(apart_s)} apart: a change includes what the machine did "
        "meanwhile, which the intervals of one run do not"
    )


def _at(workload: str, connections: int) -> str:
    """`100 connections`, or `route, 100 connections`."""
    return one_line(str(Level(workload, connections)))


def two_contenders(view: RunView, a: str, b: str) -> tuple[list[str], Mapping[str, Pair | None]]:
    """The difference between two contenders of one run: lines, and their pair at each level.

    Raises `DeadheatError` for a name that is not in the run, and if both names are the same.
    """
    if a == b:
        raise UsageFault(f"FIRST and SECOND are both {a!r}", "name two contenders")
    known = dict.fromkeys(each.name for part in view.by_workload for each in part.contenders)
    for name in (a, b):
        if name not in known:
            raise UsageFault(
                f"run {view.run_id} has no contender {name!r}",
                f"its contenders: {', '.join(known)}",
            )
    lines = [f"{a} and {b} in run {view.run_id}"]
    pairs: dict[str, Pair | None] = {}
    for part in view.by_workload:
        contenders = {contender.name: contender for contender in part.contenders}
        if missing := [name for name in (a, b) if name not in contenders]:
            lines.append(f"without the workload {part.workload}: {' and '.join(missing)}")
            continue
        for level in analyze(part).levels:
            lines.append(f"at {_at(part.workload, level.connections)}")
            pair = versus(level, a, b).pair
            texts = _pair_lines(level, pair, contenders[a], contenders[b])
            lines += [INDENT + line for line in texts]
            pairs[Level(part.workload, level.connections).short] = pair
    return lines, pairs


def pairs_json(pairs: Mapping[str, Pair | None]) -> JsonObject:
    """What `two_contenders` found, as JSON."""
    levels = {
        level: pair and {key: each for key, each in asdict(pair).items() if key != "outlook"}
        for level, pair in pairs.items()
    }
    return finite({"levels": levels})


def _agreement_lines(agreement: Agreement | None) -> list[str]:
    if agreement is None:
        return ["no rank agreement: not both runs have a ranking at this level"]
    inversions = [f"{a} and {b}" for a, b in agreement.inversions]
    return [
        f"rank agreement  tau-b {agreement.tau_b:.3f} [{agreement.low:.3f}, {agreement.high:.3f}] "
        f"over {agreement.contenders} contenders",
        f"separated pairs tau-b {agreement.tau_b_of_separated:.3f} (other pairs count as ties)",
        f"inversions      {'; '.join(inversions) or 'none'} "
        "(separated in both runs, in opposite order)",
    ]


def _pair_lines(
    level: LevelAnalysis, pair: Pair | None, a: ContenderView, b: ContenderView
) -> list[str]:
    cells = [contender.cells.get(level.connections) for contender in (a, b)]
    rates = (
        paired_rates(cells[0], cells[1])
        if cells[0] is not None and cells[1] is not None
        else [cell.rate_per_s("median") if cell else None for cell in cells]
    )
    lines = [
        f"{contender.name:28} {numbers.rate(rate_per_s)} req/s, "
        f"{numbers.microseconds(cell.server_cpu_us_per_request)} µs CPU per request, "
        f"{numbers.mebibytes(contender.memory_peak_bytes)} MiB peak"
        for contender, cell, rate_per_s in zip((a, b), cells, rates, strict=True)
        if cell is not None
    ]
    if pair is None:
        reasons = [
            f"{standing.contender.name} is not ranked: {standing.reason}"
            for standing in level.standings
            if not standing.ranked and standing.contender.name in (a.name, b.name)
        ]
        return [*lines, *(reasons or ["no ranking at this level"])]
    verdicts = {
        Verdict.SEPARATED: f"{pair.faster} is faster",
        Verdict.EQUIVALENT: "equivalent within the margin",
        Verdict.UNDECIDED: "undecided",
    }
    ratio = UnpairedChange(pair.ratio.ratio, pair.ratio.low, pair.ratio.high)
    return [
        *lines,
        f"{verdicts[pair.verdict]}: {pair.faster} / {pair.slower} {ratio_text(ratio)}, "
        f"P({pair.faster} faster) {pair.probability_faster:.3f}",
        pair.ratio.method,
    ]


HASH_CHARS = 12
PASSING = ("load_average",)  # changes from minute to minute; the gates watch it


@dataclass(frozen=True, slots=True)
class Difference:
    """One item with its values in the first and in the second run."""

    what: str
    first: str
    second: str


def differences(first: RunView, second: RunView) -> tuple[Difference, ...]:
    """Machine, versions, protocol and contenders, in this order."""
    pairs = [
        ("deadheat", first.deadheat_version, second.deadheat_version),
        ("load generator", first.generator_version, second.generator_version),
        *_hosts(first, second),
        *_mappings("protocol", *map(_without_workloads, (first, second))),
        *_workloads(first, second),
        *_contenders(first, second),
    ]
    return tuple(
        Difference(what, _shown(before), _shown(after))
        for what, before, after in pairs
        if before != after
    )


def _hosts(first: RunView, second: RunView) -> Iterator[tuple[str, Any, Any]]:
    hosts = [{host.role: host for host in view.hosts} for view in (first, second)]
    for role in sorted(hosts[0].keys() & hosts[1].keys()):
        before, after = (by_role[role] for by_role in hosts)
        yield f"{role} CPUs", list(before.cpus), list(after.cpus)
        if role == "server":
            yield from _mappings(
                "machine", before.fingerprint.to_json(), after.fingerprint.to_json()
            )


def _mappings(
    name: str, first: Mapping[str, Any], second: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Every leaf that differs, by its path."""
    for key in dict.fromkeys([*first, *second]):
        before, after, path = first.get(key), second.get(key), f"{name} {key}"
        if key in PASSING:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            yield from _mappings(path, before, after)
        else:
            yield path, before, after


def _without_workloads(view: RunView) -> Mapping[str, Any]:
    return view.protocol.model_dump(mode="json", exclude={"workloads"})


def _workloads(first: RunView, second: RunView) -> Iterator[tuple[str, Any, Any]]:
    """Their names, and a hash of each that both have, in order: its requests may have changed."""
    yield "workloads", list(first.workloads), list(second.workloads)
    before, after = (_hashes(view.protocol) for view in (first, second))
    for name in before:
        if name in after:
            yield f"workload {name}", before[name], after[name]


def _hashes(protocol: StoredProtocol) -> dict[str, str]:
    return {
        each.name: hashlib.sha256(
            json.dumps(each.model_dump(), sort_keys=True).encode()
        ).hexdigest()[:HASH_CHARS]
        for each in protocol.workloads
    }


def _contenders(first: RunView, second: RunView) -> Iterator[tuple[str, Any, Any]]:
    others = {contender.name: contender for contender in second.contenders}
    for contender in first.contenders:
        other = others.pop(contender.name, None)
        if other is None:
            yield contender.name, "present", "absent"
            continue
        yield f"{contender.name} version", contender.version, other.version
        yield f"{contender.name} workers", contender.workers, other.workers
        if contender.build and other.build:
            yield f"{contender.name} build", contender.build.key, other.build.key
    yield from ((name, "absent", "present") for name in others)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return one_line(text, 60)
