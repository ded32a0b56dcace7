"""Is the head slower than the base? A verdict for each level, for people, for pull requests, CI."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any
from xml.etree import ElementTree

from deadheat.report import format
from deadheat.report.findings.analysis import Analysis, Level
from deadheat.report.formats.markdown import code, escape
from deadheat.report.model.view import RunView


class Outcome(IntEnum):
    """The worst of several levels is the largest."""

    PASS = 0
    INCONCLUSIVE = 1
    FAIL = 2


HEADER = (
    "connections",
    "verdict",
    "head against base [95 %]",
    "base req/s",
    "head req/s",
    "base CPU µs/req",
    "head CPU µs/req",
    "detectable",
)
EXIT_CODES = {Outcome.PASS: 0, Outcome.FAIL: 3, Outcome.INCONCLUSIVE: 4}


@dataclass(frozen=True, slots=True)
class Regression:
    """The head's rate over the base's at one level, with its interval, and what follows."""

    outcome: Outcome
    connections: int
    ratio: float
    low: float
    high: float
    margin: float
    minimum_detectable_effect: float
    base_rate_per_s: float | None
    head_rate_per_s: float | None
    base_cpu_us_per_request: float | None
    head_cpu_us_per_request: float | None
    why: str

    def to_json(self) -> dict[str, Any]:
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in (asdict(self) | {"outcome": self.outcome.name}).items()
        }


def regressions(view: RunView, analysis: Analysis, base: str, head: str) -> list[Regression]:
    """One for each connection level."""
    return [_regression(level, base, head, _margin(view)) for level in analysis.levels]


def worst(found: Sequence[Regression]) -> Outcome:
    return max((one.outcome for one in found), default=Outcome.INCONCLUSIVE)


def judge(low: float, high: float, margin: float) -> Outcome:
    """What an interval of head over base says.

    PASS where a slowdown of more than the margin is ruled out (one-sided non-inferiority), FAIL
    where the head is slower beyond doubt, INCONCLUSIVE where neither can be said.
    """
    if low > 1 / (1 + margin):
        return Outcome.PASS
    return Outcome.FAIL if high < 1 else Outcome.INCONCLUSIVE


def sentence(one: Regression) -> str:
    """`PASS at 100 connections: 0.8 % faster [-0.5, 2.1]; ...`."""
    return f"{one.outcome.name} at {format.count(one.connections, 'connection')}: {one.why}"


def comment(view: RunView, found: Sequence[Regression]) -> str:
    """A Markdown comment for a pull request."""
    lines = [
        f"### deadheat: {worst(found).name}",
        "",
        f"| {' | '.join(HEADER)} |",
        f"| {' | '.join(['---'] * len(HEADER))} |",
        *(f"| {' | '.join(_cells(one))} |" for one in found),
        "",
        *(f"- {escape(sentence(one))}" for one in found),
        "",
        f"Run {view.run_id}: {code(' '.join(view.command))}",
    ]
    return "\n".join(lines) + "\n"


def junit(view: RunView, found: Sequence[Regression]) -> str:
    """JUnit XML: a test a level; an inconclusive one counts as skipped."""
    count = {outcome: sum(one.outcome is outcome for one in found) for outcome in Outcome}
    suite = ElementTree.Element(
        "testsuite",
        name="deadheat regress",
        tests=str(len(found)),
        failures=str(count[Outcome.FAIL]),
        skipped=str(count[Outcome.INCONCLUSIVE]),
        errors="0",
        time=f"{view.elapsed_s or 0:.0f}",
    )
    for one in found:
        name = f"rate at {one.connections} connections"
        case = ElementTree.SubElement(suite, "testcase", classname="deadheat", name=name)
        if one.outcome is Outcome.FAIL:
            ElementTree.SubElement(case, "failure", message=one.why)
        elif one.outcome is Outcome.INCONCLUSIVE:
            ElementTree.SubElement(case, "skipped", message=one.why)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _regression(level: Level, base: str, head: str, margin: float) -> Regression:
    standings = {standing.contender.name: standing for standing in level.standings}
    outcome, ratio, low, high, detectable = Outcome.INCONCLUSIVE, math.nan, 0.0, math.inf, math.nan
    unranked = [name for name in (base, head) if not standings[name].ranked]
    if level.ranking is None or unranked:
        reasons = [f"{name}: {standings[name].reason or 'no interval'}" for name in unranked]
        why = "; ".join(reasons) or "too few blocks for an interval"
    else:
        pair = level.ranking.pair(base, head)
        ratio, low, high = pair.ratio.ratio, pair.ratio.low, pair.ratio.high
        if pair.faster == base:
            ratio, low, high = 1 / ratio, 1 / high if high else math.inf, 1 / low if low else 0.0
        detectable = level.ranking.minimum_detectable_effect
        outcome = judge(low, high, margin)
        why = _why(outcome, ratio, low, high, margin, detectable)
    ours, theirs = standings[head].cell, standings[base].cell
    return Regression(
        outcome=outcome,
        connections=level.connections,
        ratio=ratio,
        low=low,
        high=high,
        margin=margin,
        minimum_detectable_effect=detectable,
        base_rate_per_s=theirs.rate_per_s("median"),
        head_rate_per_s=ours.rate_per_s("median"),
        base_cpu_us_per_request=theirs.server_cpu_us_per_request,
        head_cpu_us_per_request=ours.server_cpu_us_per_request,
        why=why,
    )


def _why(
    outcome: Outcome, ratio: float, low: float, high: float, margin: float, detectable: float
) -> str:
    change = _interval(ratio, low, high)
    if outcome is Outcome.FAIL:
        return f"the head is {change}"
    if outcome is Outcome.PASS:
        return f"the head is {change}; slower by more than {format.percent(margin)} is ruled out"
    return (
        f"the head is {change}; slower by more than {format.percent(margin)} is neither shown nor "
        f"ruled out. This run finds a difference of {format.percent(detectable)} four times in "
        "five: give it a longer --budget"
    )


def _cells(one: Regression) -> list[str]:
    return [
        f"{one.connections:,}",
        f"**{one.outcome.name}**",
        _change(one),
        format.rate(one.base_rate_per_s),
        format.rate(one.head_rate_per_s),
        format.microseconds(one.base_cpu_us_per_request),
        format.microseconds(one.head_cpu_us_per_request),
        _detectable(one),
    ]


def _detectable(one: Regression) -> str:
    known = math.isfinite(one.minimum_detectable_effect)
    return format.percent(one.minimum_detectable_effect) if known else format.NONE


def _change(one: Regression) -> str:
    return format.NONE if math.isnan(one.ratio) else _interval(one.ratio, one.low, one.high)


def _interval(ratio: float, low: float, high: float) -> str:
    """`1.2 % slower [-2.0, -0.4]`: the change of the rate, in per cent."""
    change = 100 * (ratio - 1)
    told = "slower" if change < 0 else "faster"
    return f"{abs(change):.1f} % {told} [{100 * (low - 1):+.1f}, {100 * (high - 1):+.1f}]"


def _margin(view: RunView) -> float:
    return float(view.stopping.get("margin", 0.03))
