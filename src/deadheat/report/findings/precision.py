"""The precision of a run: limits, machine noise, detectable differences, and the method."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deadheat.measure.contender import NULL_SERVER
from deadheat.report import format
from deadheat.report.findings.analysis import Analysis, Level
from deadheat.report.findings.limits import limits
from deadheat.report.findings.lone import lone_rate
from deadheat.report.model.statement import Statement
from deadheat.report.model.view import ContenderView, RunView
from deadheat.stats.ranking import Ranking

HOLD_FOR = "all this is for these builds, under this load, on this machine, in these minutes"


def precision(view: RunView, analysis: Analysis) -> Iterator[Statement]:
    """What limited the rates, the client's ceiling, machine noise, power, calibration, method."""
    if lone_rate(view, analysis.main) is None:
        yield from limits(view, analysis.main)
        yield from _ceiling(view, analysis.main)
    yield from _noise(view, analysis.main)
    yield from _resolution(analysis.main.ranking, bool(view.sliced))
    if view.sliced and analysis.measured_share is not None:
        share = format.percent(analysis.measured_share, 0)
        yield Statement(
            "measured", f"{share} of the race's time; the rest is starts, thaws and drains"
        )
    if view.calibration:
        text = calibration(view.calibration.at, view.calibration.result)
        yield Statement("calibration", text)
    yield from _method(view, analysis)


def _ceiling(view: RunView, level: Level) -> Iterator[Statement]:
    """The client's rate against the null server, and the fastest contender's share of it."""
    for control in view.controls:
        ceiling_per_s = _rate_per_s(view, control, level.connections)
        if control.name != NULL_SERVER or ceiling_per_s is None:
            continue
        text = (
            f"the client reached {format.rate(ceiling_per_s)} requests/s against the null server, "
            "which does as little as possible"
        )
        known = [(s.cell.rate_per_s("median") or 0.0, s.name) for s in level.standings]
        if known and (fastest := max(known))[0] > 0:
            text += (
                f"; {fastest[1]} reached {format.percent(fastest[0] / ceiling_per_s, 0)} of that"
            )
        yield Statement("ceiling", text)


def _noise(view: RunView, level: Level) -> Iterator[Statement]:
    """How much the rates of the controls varied, over all their trials, and what that touches."""
    ranges = []
    for control in view.controls:
        rates = _rates_per_s(control, level.connections)
        middle = _rate_per_s(view, control, level.connections)
        if len(rates) > 1 and middle is not None:
            least, most = (100 * (rate / middle - 1) for rate in (min(rates), max(rates)))
            ranges.append(
                f"{control.name} by {least:+.1f} to {most:+.1f} % around {format.rate(middle)}"
            )
    if ranges:
        text = f"our control servers varied: {format.listing(ranges)} requests/s"
        yield Statement("noise", f"{text}; {noise_means(view, level)}")


def noise_means(view: RunView, level: Level) -> str:
    """What the noise of the machine means for the answer."""
    if view.protocol.residency == "alone":
        return "rates and ratios may be off by as much, since each contender ran at another time"
    if level.ranking is None or len(level.ranking.rows) < 2:
        return "rates may be off by as much"
    return "the intervals of ratios include it, requests/s and p99 do not"


def noise_range(view: RunView, connections: int) -> tuple[float, float] | None:
    """How far the rates of the controls' trials went below and above their rates, in percent."""
    moves = []
    for control in view.controls:
        rates = _rates_per_s(control, connections)
        middle = _rate_per_s(view, control, connections)
        if len(rates) > 1 and middle is not None:
            moves += [100 * (rate / middle - 1) for rate in rates]
    return (min(moves), max(moves)) if moves else None


def _rate_per_s(view: RunView, contender: ContenderView, connections: int) -> float | None:
    """The contender's rate, as every table has it."""
    cell = contender.cells.get(connections)
    return cell.rate_per_s(view.aggregate) if cell else None


def _rates_per_s(contender: ContenderView, connections: int) -> Sequence[float]:
    cell = contender.cells.get(connections)
    trials = cell.trials if cell else ()
    return [t.rate_per_s for t in trials if t.measured and t.rate_per_s is not None]


def _resolution(ranking: Ranking | None, sliced: bool) -> Iterator[Statement]:
    if ranking is not None and not math.isnan(ranking.minimum_detectable_effect):
        least = format.percent(ranking.minimum_detectable_effect)
        which = " between contenders that raced to the end" if sliced else ""
        yield Statement("resolution", f"80 % power to detect a difference of {least}{which}")


def calibration(at: str, result: Mapping[str, Any]) -> str:
    """What `deadheat calibrate` measured on a machine like this run's, and when."""
    parts = []
    if (share := result.get("false_difference_rate")) is not None:
        parts.append(
            f"{format.percent(share)} of {result.get('null_pairs', '?')} pairs of equal servers "
            f"seemed to differ ({format.percent(result.get('nominal', 0.05), 0)} is expected by "
            "chance)"
        )
        if not result.get("passed", True):
            parts.append("that is more than chance explains, or too few pairs were measured")
    if slowdowns := result.get("slowdowns"):
        parts.append(_slowdown_text(slowdowns))
    if (effect := result.get("minimum_detectable_effect")) is not None:
        parts.append(f"80 % power to detect a difference of {format.percent(effect)}")
    return f"a machine of this kind, on {at[:10]}: {'; '.join(parts)}"


def _slowdown_text(slowdowns: Sequence[Mapping[str, Any]]) -> str:
    """The smallest slowdown such that every race found it and all larger ones."""
    smallest = None
    for slowdown in sorted(slowdowns, key=lambda slowdown: -slowdown["injected"]):
        if slowdown["found"] < slowdown["races"]:
            break
        smallest = slowdown
    if smallest is None:
        worst = max(slowdown["injected"] for slowdown in slowdowns)
        return f"not even a slowdown of {format.percent(worst, 0)} was found in every race"
    share, races = format.percent(smallest["injected"], 0), format.count(smallest["races"], "race")
    return f"a slowdown of {share} was found in {smallest['found']} of {races}"


def _method(view: RunView, analysis: Analysis) -> Iterator[Statement]:
    for text in _method_texts(view, analysis):
        yield Statement("method", f"{text}; {HOLD_FOR}")


def _method_texts(view: RunView, analysis: Analysis) -> Iterator[str]:
    ranking = analysis.main.ranking
    if ranking is None or len(ranking.rows) < 2:
        return
    comparisons = ranking.level.comparisons
    hold = (
        f"the intervals of all {comparisons:,} pairs hold jointly"
        if comparisons > 1
        else "the interval holds"
    )
    hold += f" at {format.percent(ranking.level.confidence, 0)}{_looks(view)}"
    if view.sliced:
        yield f"{hold}; {_sliced_method(analysis)}"
        return
    if view.protocol.residency == "alone":
        repetitions = format.count(analysis.blocks, "repetition")
        yield (
            f"{hold}; ratios of geometric means over {repetitions}; the contenders ran one after "
            "the other, so a change of the machine is not canceled"
        )
        return
    starts = format.count(analysis.invocations, "fresh start")
    text = (
        f"{hold}; ratios of geometric means, paired by block over "
        f"{format.count(analysis.blocks, 'block')} in {starts}"
    )
    if analysis.invocations == 1:
        text += "; one start cannot show how much starts differ"
    if analysis.heats > 1:
        text += (
            f"; {analysis.heats} heats, because not all contenders fit into memory together: "
            "contenders of different heats are compared through the controls, which ran in each"
        )
    yield text


def _sliced_method(analysis: Analysis) -> str:
    return (
        f"rates and ratios come from one model of all slices: "
        f"{format.count(analysis.blocks, 'block')}, up to "
        f"{format.count(analysis.invocations, 'instance')} of each contender"
    )


def _looks(view: RunView) -> str:
    """For how many looks the intervals hold: a race could end at each declared look."""
    if not view.settles:
        return ""
    share = view.conclusion.share
    if share is None:
        return " for this look only: it was not a declared one, so the next may differ"
    spent = format.percent(share, 0)
    return f" over all declared looks (this one spends {spent} of the allowed error)"
