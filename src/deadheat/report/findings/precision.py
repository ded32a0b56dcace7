"""What this run and this machine can see at all, and how the intervals were made."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deadheat.measure.contender import NULL_SERVER
from deadheat.report import format
from deadheat.report.findings.analysis import Analysis, Level
from deadheat.report.findings.limits import limits
from deadheat.report.model.statement import Statement
from deadheat.report.model.view import ContenderView, RunView
from deadheat.stats.ranking import Ranking


def instrument(view: RunView, analysis: Analysis) -> Iterator[Statement]:
    """What limited the rates, the client's ceiling, the machine's weather, what could be told
    apart, and the method."""
    yield from limits(view, analysis.main)
    yield from _ceiling(view, analysis.main)
    yield from _machine(view, analysis.main.connections)
    yield from _resolution(analysis.main.ranking)
    if view.calibration:
        text = calibration(view.calibration.at, view.calibration.result)
        yield Statement("calibration", text)
    yield from _method(view, analysis)


def _ceiling(view: RunView, level: Level) -> Iterator[Statement]:
    """What the client reaches against the least a server can be: the null server alone."""
    for one in view.controls:
        rates = _rates_per_s(one, level.connections)
        if one.name != NULL_SERVER or not rates:
            continue
        ceiling_per_s = statistics.median(rates)
        text = (
            f"against the {NULL_SERVER}, which does next to nothing, this client reached "
            f"{format.rate(ceiling_per_s)} requests/s"
        )
        known = [(s.cell.rate_per_s("median") or 0.0, s.name) for s in level.standings]
        if known and (fastest := max(known))[0] > 0:
            text += (
                f"; {fastest[1]} came to {format.percent(fastest[0] / ceiling_per_s, 0)} of that"
            )
        yield Statement("ceiling", text)


def _machine(view: RunView, connections: int) -> Iterator[Statement]:
    """How the canaries' rates moved, who never change: every trial of them, disturbed or not."""
    moved = []
    for one in view.controls:
        rates = _rates_per_s(one, connections)
        if len(rates) > 1:
            middle = statistics.median(rates)
            least, most = (100 * (rate / middle - 1) for rate in (min(rates), max(rates)))
            moved.append(f"{one.name} {least:+.1f} to {most:+.1f} % around {format.rate(middle)}")
    if moved:
        text = f"what it did to servers that never change: {format.listing(moved)} requests/s"
        yield Statement("machine", text)


def _rates_per_s(one: ContenderView, connections: int) -> Sequence[float]:
    cell = one.cells.get(connections)
    trials = cell.trials if cell else ()
    return [t.rate_per_s for t in trials if t.measured and t.rate_per_s is not None]


def _resolution(ranking: Ranking | None) -> Iterator[Statement]:
    if ranking is not None and not math.isnan(ranking.minimum_detectable_effect):
        least = format.percent(ranking.minimum_detectable_effect)
        text = f"of pairs that truly differ by {least}, a run like this tells four in five apart"
        yield Statement("resolution", text)


def calibration(at: str, result: Mapping[str, Any]) -> str:
    """What `deadheat calibrate` found, when, and the smallest slowdown that no race missed."""
    told = []
    if (share := result.get("false_difference_rate")) is not None:
        told.append(
            f"of {result.get('null_pairs', '?')} pairs of equal servers {format.percent(share)} "
            f"seemed to differ, {format.percent(result.get('nominal', 0.05), 0)} expected by chance"
        )
        if not result.get("passed", True):
            told.append("which is more than chance explains, or of too few pairs to tell")
    if slowdowns := result.get("slowdowns"):
        told.append(_slowdown(slowdowns))
    if (effect := result.get("minimum_detectable_effect")) is not None:
        told.append(f"of pairs {format.percent(effect)} apart, four in five are told apart")
    return f"a machine of this kind, on {at[:10]}: {'; '.join(told)}"


def _slowdown(slowdowns: Sequence[Mapping[str, Any]]) -> str:
    """The smallest from which on every race found every slowdown."""
    sure = None
    for one in sorted(slowdowns, key=lambda one: -one["injected"]):
        if one["found"] < one["races"]:
            break
        sure = one
    if sure is None:
        worst = max(one["injected"] for one in slowdowns)
        return f"not even a slowdown by {format.percent(worst, 0)} was found in every race"
    share, races = format.percent(sure["injected"], 0), format.count(sure["races"], "race")
    return f"a slowdown by {share} was found in {sure['found']} of {races}"


def _method(view: RunView, analysis: Analysis) -> Iterator[Statement]:
    ranking = analysis.main.ranking
    if ranking is None or len(ranking.rows) < 2:
        return
    comparisons = ranking.level.comparisons
    hold = (
        f"the intervals of all {comparisons:,} pairs hold together"
        if comparisons > 1
        else "the interval holds"
    )
    hold += f" at {format.percent(ranking.level.confidence, 0)}{_looks(view)}"
    starts = format.count(analysis.invocations, "fresh start")
    text = (
        f"{hold}; ratios of geometric means, paired by block over "
        f"{format.count(analysis.blocks, 'block')} in {starts}"
    )
    if analysis.invocations == 1:
        text += "; what a fresh start changes is not seen in one"
    if analysis.heats > 1:
        text += (
            f"; {analysis.heats} heats, because memory did not hold all at once: contenders of "
            "different heats are compared over the canaries, which ran in each"
        )
    yield Statement("method", text)


def _looks(view: RunView) -> str:
    """A race is looked at several times before it ends, and could end at each look."""
    if not view.settles:
        return ""
    share = view.conclusion.get("share")
    if share is None:
        return " for a single look; this one was not declared, so the next may say otherwise"
    return f" over all declared looks (this one spends {format.percent(share, 0)} of the error)"
