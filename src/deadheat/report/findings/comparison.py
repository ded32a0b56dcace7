"""`deadheat compare` in words: two runs, or two contenders of one run."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from deadheat.errors import DeadheatError
from deadheat.measure.contender import REFERENCE
from deadheat.report import format
from deadheat.report.findings.agreement import agreements
from deadheat.report.findings.analysis import Analysis, Level
from deadheat.report.findings.environment import differences
from deadheat.report.model.view import ContenderView, RunView
from deadheat.stats.agreement import Agreement
from deadheat.stats.alpha_spending import Level as ErrorLevel
from deadheat.stats.decision import Verdict
from deadheat.stats.distributions import Floats
from deadheat.stats.ranking import Pair
from deadheat.stats.rate_matrix import tableau
from deadheat.stats.unpaired import Change, change

INDENT = "  "


def two_runs(first: RunView, second: RunView) -> tuple[list[str], dict[str, Any]]:
    """Their orders, the change of each contender, and what may explain it: lines, and data."""
    lines = [f"{first.run_id} beside {second.run_id}"]
    levels = {}
    for connections, agreement in agreements(first, second).items():
        found = changes(first, second, connections)
        lines.append(f"at {connections} connections")
        lines += [INDENT + line for line in _agreement(agreement)]
        lines += [INDENT + line for line in _changes(first, second, connections, found)]
        levels[str(connections)] = {
            "agreement": asdict(agreement) if agreement else None,
            "changes": {name: asdict(one) for name, one in found.items()},
        }
    if not levels:
        lines.append("no connection level is in both runs")
    unlike = differences(first, second)
    lines.append("not the same in both" if unlike else "all that is stored is the same in both")
    lines += [f"{INDENT}{one.what}: {one.first} → {one.second}" for one in unlike]
    told = {"levels": levels, "differences": [asdict(one) for one in unlike]}
    return lines, finite(told)


def two_contenders(
    view: RunView, analysis: Analysis, a: str, b: str
) -> tuple[list[str], dict[str, Any]]:
    """What one run says of two of its contenders: lines, and data.

    Raises `DeadheatError` for a name that it lacks, and for one name twice.
    """
    if a == b:
        raise DeadheatError(f"FIRST and SECOND are both {a!r}", "name two contenders")
    found = {one.name: one for one in view.contenders}
    for name in (a, b):
        if name not in found:
            raise DeadheatError(
                f"run {view.run_id} has no contender {name!r}", f"it has {', '.join(found)}"
            )
    lines = [f"{a} and {b} in run {view.run_id}"]
    pairs: dict[str, Any] = {}
    for level in analysis.levels:
        lines.append(f"at {level.connections} connections")
        pair = _pair_of(level, a, b)
        lines += [INDENT + line for line in _pair(level, pair, found[a], found[b])]
        pairs[str(level.connections)] = asdict(pair) if pair else None
    return lines, finite({"levels": pairs})


def changes(first: RunView, second: RunView, connections: int) -> dict[str, Change]:
    """The change of each contender and canary that has a rate in both.

    All intervals hold together at 95 %; the start is the unit (see `stats.unpaired`).
    """
    sides = [_rates(view, connections) for view in (first, second)]
    names = [name for name in sides[0] if name in sides[1]]
    alpha = ErrorLevel(comparisons=max(len(names), 1)).alpha
    return {name: change(sides[0][name], sides[1][name], alpha) for name in names}


def _agreement(agreement: Agreement | None) -> list[str]:
    if agreement is None:
        return ["no order in both: nothing to compare"]
    against = [f"{a} and {b}" for a, b in agreement.inversions]
    return [
        f"rank agreement  tau-b {agreement.tau_b:.3f} [{agreement.low:.3f}, {agreement.high:.3f}] "
        f"over {agreement.contenders} contenders",
        f"of separated    tau-b {agreement.tau_b_of_separated:.3f}, other pairs counted as ties",
        f"inversions      {'; '.join(against) or 'none'} (separated in both, in opposite order)",
    ]


def _changes(
    first: RunView, second: RunView, connections: int, found: Mapping[str, Change]
) -> list[str]:
    cells = [
        {one.name: one.cells[connections] for one in (*view.contenders, *view.controls)
         if connections in one.cells}
        for view in (first, second)
    ]  # fmt: skip
    lines = [f"{'requests/s':28} {'first':>10} {'second':>10}  second / first [95 %]"]
    for name, one in found.items():
        rates = [by_name[name].rate_per_s("median") for by_name in cells]
        lines.append(
            f"{name:28} {format.rate(rates[0]):>10} {format.rate(rates[1]):>10}  {_ratio(one)}"
        )
    if REFERENCE in found:
        lines.append(f"{REFERENCE} is a server of ours that never changes: {_machine(found)}")
    return lines


def _machine(found: Mapping[str, Change]) -> str:
    one = found[REFERENCE]
    if one.known:
        return "the machine itself changed, and that is in every row"
    return "no change of the machine is seen"


def _pair_of(level: Level, a: str, b: str) -> Pair | None:
    """None where one of the two is not ranked."""
    ranked = {standing.contender.name for standing in level.ranked}
    return level.ranking.pair(a, b) if level.ranking and {a, b} <= ranked else None


def _pair(level: Level, pair: Pair | None, a: ContenderView, b: ContenderView) -> list[str]:
    lines = [
        f"{one.name:28} {format.rate(cell.rate_per_s('median'))} req/s, "
        f"{format.microseconds(cell.server_cpu_us_per_request)} µs CPU a request, "
        f"{format.mebibytes(one.memory_peak_bytes)} MiB at peak"
        for one in (a, b)
        if (cell := one.cells.get(level.connections)) is not None
    ]
    if pair is None:
        unranked = [standing for standing in level.standings if not standing.ranked]
        ours = [one for one in unranked if one.contender.name in (a.name, b.name)]
        reasons = [f"{one.contender.name} is not ranked: {one.reason}" for one in ours]
        return [*lines, *(reasons or ["no order at this level"])]
    verdicts = {
        Verdict.SEPARATED: f"{pair.faster} is faster",
        Verdict.EQUIVALENT: "equivalent within the margin",
        Verdict.UNDECIDED: "undecided",
    }
    apart = Change(pair.ratio.ratio, pair.ratio.low, pair.ratio.high)
    return [
        *lines,
        f"{verdicts[pair.verdict]}: {pair.faster} / {pair.slower} {_ratio(apart)}, "
        f"P({pair.faster} faster) {pair.probability_faster:.3f}",
        pair.ratio.method,
    ]


def _ratio(one: Change) -> str:
    if math.isinf(one.high) or one.high > format.UNKNOWN_FACTOR * one.low:
        return f"{one.ratio:.3f}, no interval that says anything: too few fresh starts"
    return f"{one.ratio:.3f} [{one.low:.3f}, {one.high:.3f}]"


def finite(told: Any) -> Any:
    """The same data with null for what JSON has no number for."""
    if isinstance(told, Mapping):
        return {key: finite(value) for key, value in told.items()}
    if isinstance(told, list | tuple):
        return [finite(value) for value in told]
    return None if isinstance(told, float) and not math.isfinite(told) else told


def _rates(view: RunView, connections: int) -> dict[str, Floats]:
    """rates[start, block] by name, of those that have a valid one."""
    trials = {
        one.name: {
            (trial.invocation, trial.heat, trial.block): trial.rate_per_s
            for trial in one.cells[connections].valid
            if trial.rate_per_s is not None
        }
        for one in (*view.contenders, *view.controls)
        if connections in one.cells
    }
    by_name = {name: by_place for name, by_place in trials.items() if by_place}
    rates = tableau(by_name, {place for by_place in by_name.values() for place in by_place})
    return {name: rates[:, :, index] for index, name in enumerate(by_name)}
