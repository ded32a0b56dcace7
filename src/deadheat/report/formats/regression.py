"""Whether the head is slower than the base: a verdict for each level, as text and for CI."""

import math
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from xml.etree import ElementTree

from deadheat import numbers
from deadheat.report import wording
from deadheat.report.findings.analysis import Analysis, LevelAnalysis
from deadheat.report.findings.comparison import paired_rates
from deadheat.report.findings.next_step import next_step, run_anew
from deadheat.report.formats.markdown import code, escape, plain_table
from deadheat.report.model.view import RunView
from deadheat.stats.ranking.change import Change, Outcome
from deadheat.store.listing import short_id
from deadheat.strict import JsonObject, finite
from deadheat.workload import HELLO, Level

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


@dataclass(frozen=True, slots=True)
class Regression:
    """The ratio of the head's rate to the base's at one level, its interval, and the verdict.

    `fix` says what would decide an INCONCLUSIVE level; None for the other verdicts.
    """

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
    fix: str | None
    workload: str = HELLO

    def to_json(self) -> JsonObject:
        return finite(asdict(self) | {"outcome": self.outcome.name})


def regressions(view: RunView, analysis: Analysis, base: str, head: str) -> list[Regression]:
    """One for each connection level."""
    return [_regression(view, analysis, level, base, head) for level in analysis.levels]


def worst(regressions: Sequence[Regression]) -> Outcome:
    return max((regression.outcome for regression in regressions), default=Outcome.INCONCLUSIVE)


def sentence(regression: Regression) -> str:
    """`PASS at 100 connections: 0.8 % faster [-0.5, 2.1]; ...`."""
    at = str(Level(regression.workload, regression.connections))
    fix = f"; fix: {regression.fix}" if regression.fix else ""
    return f"{regression.outcome.name} at {at}: {regression.why}{fix}"


def comment(view: RunView, regressions: Sequence[Regression]) -> str:
    """A Markdown comment for a pull request."""
    lines = [
        f"### deadheat: {worst(regressions).name}",
        "",
        *plain_table([HEADER, *map(_cells, regressions)]),
        "",
        *(f"- {escape(sentence(regression))}" for regression in regressions),
        "",
        f"Run {view.run_id}: {code(shlex.join(view.command))}",
    ]
    return "\n".join(lines) + "\n"


def junit(view: RunView, regressions: Sequence[Regression]) -> str:
    """JUnit XML: a test for each level; an inconclusive one counts as skipped."""
    count = Counter(regression.outcome for regression in regressions)
    suite = ElementTree.Element(
        "testsuite",
        name="deadheat regress",
        tests=str(len(regressions)),
        failures=str(count[Outcome.FAIL]),
        skipped=str(count[Outcome.INCONCLUSIVE]),
        errors="0",
        time=f"{view.elapsed_s or 0:.0f}",
    )
    for regression in regressions:
        name = f"rate at {Level(regression.workload, regression.connections).short} connections"
        case = ElementTree.SubElement(suite, "testcase", classname="deadheat", name=name)
        if regression.outcome is Outcome.FAIL:
            ElementTree.SubElement(case, "failure", message=regression.why)
        elif regression.outcome is Outcome.INCONCLUSIVE:
            text = "; fix: ".join(filter(None, (regression.why, regression.fix)))
            ElementTree.SubElement(case, "skipped", message=text)
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _regression(
    view: RunView, analysis: Analysis, level: LevelAnalysis, base: str, head: str
) -> Regression:
    margin = view.margin
    standings = {standing.contender.name: standing for standing in level.standings}
    outcome, change, detectable = Outcome.INCONCLUSIVE, Change(math.nan, 0.0, math.inf), math.nan
    unranked = [name for name in (base, head) if not standings[name].ranked]
    if level.ranking is None or unranked:
        reasons = [f"{name}: {standings[name].reason or 'no interval'}" for name in unranked]
        why = "; ".join(reasons) or "too few blocks for an interval"
        fix: str | None = _fix_of_checks(level) or f"a longer run: {_with_budget(view, 4.0)}"
    else:
        change = Change.of(level.ranking, base, head)
        detectable = level.ranking.minimum_detectable_effect
        outcome = change.judge(margin)
        why = _why(outcome, change, margin, detectable)
        fix = None
        if outcome is Outcome.INCONCLUSIVE:
            pair = level.ranking.pair(base, head)
            step = next_step(view, analysis, [pair], short_id(view.run_id))
            fix = f"a longer run: {step.command}"
    ours, theirs = standings[head].cell, standings[base].cell
    head_rate_per_s, base_rate_per_s = paired_rates(ours, theirs)
    return Regression(
        outcome=outcome,
        connections=level.connections,
        ratio=change.ratio,
        low=change.low,
        high=change.high,
        margin=margin,
        minimum_detectable_effect=detectable,
        base_rate_per_s=base_rate_per_s,
        head_rate_per_s=head_rate_per_s,
        base_cpu_us_per_request=theirs.server_cpu_us_per_request,
        head_cpu_us_per_request=ours.server_cpu_us_per_request,
        why=why,
        fix=fix,
        workload=view.workload,
    )


def _fix_of_checks(level: LevelAnalysis) -> str | None:
    """Name and advice of the check that failed in most trials of a level without valid trials."""
    trials = [trial for standing in level.standings for trial in standing.cell.trials]
    gates = [gate for trial in trials for gate in trial.gates_failed]
    if not gates or any(not trial.gates_failed for trial in trials):
        return None
    (name, failed) = Counter(gate.code for gate in gates).most_common(1)[0]
    advice = next((gate.advice for gate in gates if gate.code == name and gate.advice), None)
    return f"check {name} failed in {failed} of {len(trials)} trials: {advice}" if advice else None


def _with_budget(view: RunView, times: float) -> str:
    """The command of the run with a budget that is so many times its duration."""
    names = [contender.name for contender in view.contenders]
    budget = f"{math.ceil(times * (view.race_s or 300.0) / 60)}m"
    return run_anew(view, names, ["--budget", budget])


def _why(outcome: Outcome, change: Change, margin: float, detectable: float) -> str:
    shown = f"the head is {_interval(change)}"
    slowdown = f"a slowdown of more than {numbers.percent(margin)} is"
    if outcome is Outcome.FAIL:
        return shown
    if outcome is Outcome.PASS:
        return f"{shown}; {slowdown} ruled out"
    return (
        f"{shown}; {slowdown} neither shown nor ruled out, because this run detects (with 80 % "
        f"power) a difference of {numbers.percent(detectable)} or more"
    )


def _cells(regression: Regression) -> list[str]:
    detectable = regression.minimum_detectable_effect
    return [
        wording.load(regression.workload, regression.connections),
        f"**{regression.outcome.name}**",
        numbers.NONE if math.isnan(regression.ratio) else _interval(regression),
        numbers.rate(regression.base_rate_per_s),
        numbers.rate(regression.head_rate_per_s),
        numbers.microseconds(regression.base_cpu_us_per_request),
        numbers.microseconds(regression.head_cpu_us_per_request),
        numbers.percent(detectable) if math.isfinite(detectable) else numbers.NONE,
    ]


def _interval(of: Change | Regression) -> str:
    """`1.2 % slower [0.4, 2.0]`: the interval counts in the direction of the word before it."""
    change, ends = 100 * (of.ratio - 1), [100 * (of.low - 1), 100 * (of.high - 1)]
    direction = "faster"
    if change < 0:
        change, ends, direction = -change, [-end for end in reversed(ends)], "slower"
    if not numbers.is_known(of.low, of.high):
        return f"{change:.1f} % {direction} {numbers.UNKNOWN}"
    return f"{change:.1f} % {direction} [{numbers.signless(ends[0])}, {numbers.signless(ends[1])}]"
