"""Two runs compared, or two contenders of one run: lines of text, and data."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from deadheat import numbers
from deadheat.errors import DeadheatError
from deadheat.foreign_text import one_line
from deadheat.report.findings.agreement import agreements
from deadheat.report.findings.analysis import Level as AnalyzedLevel
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.changes import changes, changes_beside_the_others, ratio_text, table
from deadheat.report.findings.environment import differences
from deadheat.report.findings.paired import paired_rates
from deadheat.report.model.view import ContenderView, RunView
from deadheat.stats.agreement import Agreement
from deadheat.stats.decision import Verdict
from deadheat.stats.ranking import Pair
from deadheat.stats.unpaired import Change
from deadheat.workload import Level

INDENT = "  "


def two_runs(first: RunView, second: RunView) -> tuple[list[str], dict[str, Any]]:
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
            lines += [INDENT + line for line in _agreement(agreement)]
            lines += [
                INDENT + line for line in table(before, after, connections, all_changes, beside)
            ]
            levels[Level(name, connections).short] = {
                "agreement": asdict(agreement) if agreement else None,
                "changes": _by_name(all_changes),
                "changes_beside_the_others": _by_name(beside),
            }
    if not levels:
        lines.append("no connection level is in both runs")
    setup = differences(first, second)
    lines.append("differences in setup" if setup else "no difference in the stored setup")
    lines += [f"{INDENT}{item.what}: {item.first} → {item.second}" for item in setup]
    return lines, finite({"levels": levels, "differences": [asdict(item) for item in setup]})


def _apart(first: RunView, second: RunView) -> str:
    """How far apart in time, and what that adds to a difference."""
    apart_s = abs((second.started_at - first.started_at).total_seconds())
    return (
        f"begun {numbers.duration(apart_s)} apart: a change includes what the machine did "
        "meanwhile, which the intervals of one run do not"
    )


def _by_name(changes: Mapping[str, Change]) -> dict[str, Any]:
    return {name: asdict(change) for name, change in changes.items()}


def _at(workload: str, connections: int) -> str:
    """`100 connections`, or `route, 100 connections`."""
    return one_line(str(Level(workload, connections)))


def two_contenders(view: RunView, a: str, b: str) -> tuple[list[str], dict[str, Any]]:
    """The difference between two contenders of one run: lines, and data.

    Raises `DeadheatError` for a name that is not in the run, and if both names are the same.
    """
    if a == b:
        raise DeadheatError(f"FIRST and SECOND are both {a!r}", "name two contenders")
    known = dict.fromkeys(each.name for part in view.by_workload for each in part.contenders)
    for name in (a, b):
        if name not in known:
            raise DeadheatError(
                f"run {view.run_id} has no contender {name!r}",
                f"its contenders: {', '.join(known)}",
            )
    lines = [f"{a} and {b} in run {view.run_id}"]
    pairs: dict[str, Any] = {}
    for part in view.by_workload:
        contenders = {contender.name: contender for contender in part.contenders}
        if missing := [name for name in (a, b) if name not in contenders]:
            lines.append(f"without the workload {part.workload}: {' and '.join(missing)}")
            continue
        for level in analyze(part).levels:
            lines.append(f"at {_at(part.workload, level.connections)}")
            pair = _pair_of(level, a, b)
            texts = _pair_lines(level, pair, contenders[a], contenders[b])
            lines += [INDENT + line for line in texts]
            pairs[Level(part.workload, level.connections).short] = _to_json(pair)
    return lines, finite({"levels": pairs})


def _to_json(pair: Pair | None) -> dict[str, Any] | None:
    if pair is None:
        return None
    return {name: value for name, value in asdict(pair).items() if name != "outlook"}


def _agreement(agreement: Agreement | None) -> list[str]:
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


def _pair_of(level: AnalyzedLevel, a: str, b: str) -> Pair | None:
    """None where one of the two is not ranked."""
    ranked = {standing.contender.name for standing in level.ranked}
    return level.ranking.pair(a, b) if level.ranking and {a, b} <= ranked else None


def _pair_lines(
    level: AnalyzedLevel, pair: Pair | None, a: ContenderView, b: ContenderView
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
    ratio = Change(pair.ratio.ratio, pair.ratio.low, pair.ratio.high)
    return [
        *lines,
        f"{verdicts[pair.verdict]}: {pair.faster} / {pair.slower} {ratio_text(ratio)}, "
        f"P({pair.faster} faster) {pair.probability_faster:.3f}",
        pair.ratio.method,
    ]


def finite(data: Any) -> Any:
    """The same data with None for each infinity and NaN, which JSON lacks."""
    if isinstance(data, Mapping):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
