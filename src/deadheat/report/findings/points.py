"""The points of a result: what is known, open or doubtful, and what to type next."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deadheat import numbers
from deadheat.campaign.failures import OF_THE_MACHINE
from deadheat.foreign_text import MASK, one_line
from deadheat.report import wording
from deadheat.report.findings.analysis import Analysis, LevelAnalysis, at_least, shown_name
from deadheat.report.findings.cautions import cautions, none_found
from deadheat.report.findings.common_rate import (
    capacity_statements,
    open_command,
    rate_statements,
    without_intervals,
)
from deadheat.report.findings.conclusion import conclusions, most_failed, why_no_order
from deadheat.report.findings.footprint import is_asked
from deadheat.report.findings.next_step import (
    NextStep,
    more_for_lone,
    next_step,
    reasonable_s,
    remaining,
    run_anew,
    settled_anew,
    time_text,
    too_close,
)
from deadheat.report.findings.pauses import pauses_at
from deadheat.report.findings.precision import (
    LoneRate,
    lone_rate,
    lone_statements,
    noise_means,
    noise_range,
)
from deadheat.report.model.view import RunView
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.pairs import PRECISION
from deadheat.stats.ranking.ranks import Pair, Ranking

KNOWN_MAX, OPEN_MAX, CAUTIONS_MAX, NAMES_MAX = 3, 3, 3, 6
PAGE = "--format html -o page.html"


@dataclass(frozen=True, slots=True)
class Point:
    """One line below the table: a topic, a text, its figures, and a command to type."""

    topic: str
    text: str
    figures: str = ""
    command: str = ""


def points(view: RunView, analysis: Analysis, source: str) -> tuple[Point, ...]:
    """Every point of a run, in the order of reading."""
    shown = (
        *(Point("KNOWN", statement.text) for statement in capacity_statements(view)),
        *_of_rates(view),
        *(_of_level(view, analysis, source) if _ranks(view, analysis) else ()),
    )
    masks = any(MASK in point.command for point in shown)
    return (
        *shown,
        *((Point("NOTE", f"type the password in place of {MASK}: no output shows it"),) * masks),
        *_cautions(view),
        *_noise(view, analysis),
        Point("SEE", "everything", "", f"deadheat report {source} -v"),
        Point("SEE", "a web page", "", f"deadheat report {source} {PAGE}"),
    )


def _ranks(view: RunView, analysis: Analysis) -> bool:
    return view.races and bool(analysis.levels) and not is_asked(view)


def _of_rates(view: RunView) -> Iterator[Point]:
    """What a race at common rates shows: the first pairs of each kind, and the others counted."""
    by_topic: dict[str, list[str]] = {}
    for statement in rate_statements(view):
        by_topic.setdefault(statement.topic, []).append(statement.text)
    for topic, most in (("known", KNOWN_MAX), ("open", OPEN_MAX)):
        texts = by_topic.get(topic, [])
        commands = [open_command(view)] if topic == "open" and texts else []
        for place, text in enumerate(texts[:most]):
            is_last = place + 1 == min(len(texts), most)
            yield Point(topic.upper(), text, "", commands[0] if commands and is_last else "")
        if len(texts) > most:
            yield Point(topic.upper(), f"{numbers.count(len(texts) - most, 'more pair')}: -v")
    if without_intervals(view) and not by_topic.keys() & {"known", "open"}:
        yield Point("OPEN", "no comparison has an interval", "", open_command(view))
    for topic in ("unranked", "idle CPUs"):
        yield from (Point(topic.upper(), text) for text in by_topic.get(topic, []))


def _of_level(view: RunView, analysis: Analysis, source: str) -> Iterator[Point]:
    level = analysis.main
    for statement in lone_statements(view, level):
        yield Point(statement.topic.upper(), statement.text)
    if level.ranking is not None:
        yield from _known(view, level.ranking)
    for bound in at_least(view, level):
        pair = f"{bound.contender.label or bound.contender.name} > {_shown(view, bound.beaten[0])}"
        least = f"{100 * (bound.ratio_low - 1):.1f}"
        how_much = f"+{least} % or more; " if float(least) else ""
        yield Point("KNOWN", pair, f"{how_much}the client limited its rate")
    yield from open_points(view, analysis, level, source)
    if level.ranking is not None:
        yield from _unranked(level)
    yield from _pauses(view, level)
    for statement in conclusions(view, analysis):
        if statement.topic.startswith("at "):
            yield Point(statement.topic.upper(), statement.text)
        elif statement.topic == "by CPU time":
            yield Point("CPU TIME", statement.text)


def open_points(
    view: RunView, analysis: Analysis, level: LevelAnalysis, source: str
) -> tuple[Point, ...]:
    """What a level leaves open, each point with the command that would decide it."""
    if (lone := lone_rate(view, level)) is not None:
        return tuple(_lone_open(view, lone, source))
    if level.ranking is None:
        return tuple(_no_order(view, analysis, level))
    return tuple(_open(view, analysis, level.ranking, source))


def _lone_open(view: RunView, lone: LoneRate, source: str) -> Iterator[Point]:
    if not lone.known:
        precision = numbers.percent(PRECISION, 0)
        step = more_for_lone(view, lone.standing.contender.name, source)
        yield Point("OPEN", f"the rate is not known to {precision}", "", step.command)


def _known(view: RunView, ranking: Ranking) -> Iterator[Point]:
    """The neighboring pairs that are separated or equivalent, from the top."""
    decided = [pair for pair in ranking.neighbors if pair.verdict is not Verdict.UNDECIDED]
    for pair in decided[:KNOWN_MAX]:
        if pair.verdict is Verdict.SEPARATED:
            yield Point("KNOWN", _pair(view, pair, ">"), f"+{_figures(pair)}")
        else:
            within = f"within {numbers.percent(ranking.margin, 0)}"
            yield Point("KNOWN", _pair(view, pair, "="), f"{_figures(pair)}, {within}")
    if len(decided) > KNOWN_MAX:
        yield Point("KNOWN", f"{numbers.count(len(decided) - KNOWN_MAX, 'more pair')}: -v")


def _open(view: RunView, analysis: Analysis, ranking: Ranking, source: str) -> Iterator[Point]:
    """The undecided neighboring pairs from the top, each with the command that would decide it."""
    undecided = [pair for pair in ranking.neighbors if pair.verdict is Verdict.UNDECIDED]
    for pair in undecided[:OPEN_MAX]:
        step = next_step(view, analysis, [pair], source)
        if close := remaining(view, analysis, pair).text:
            figures = f"{_figures(pair)}  {close}"
        else:
            figures = _with_time(_figures(pair), step)
        yield Point("OPEN", _pair(view, pair, "~"), figures, step.command)
    if rest := undecided[OPEN_MAX:]:
        others = numbers.count(len(rest), "more pair")
        step = next_step(view, analysis, rest, source)
        few = len(too_close(view, analysis, rest))
        which = "all" if few == len(rest) else f"{few} of them"
        figures = f"{which} too close to settle in {time_text(reasonable_s(view))}" if few else ""
        if few < len(rest):
            figures = _with_time(figures, step)
        yield Point("OPEN", others, figures, step.command)


def _with_time(figures: str, step: NextStep) -> str:
    """`3.8 % [-2, 9]  7 min:`"""
    time = "" if step.minutes is None else f"{step.minutes:,} min:"
    return "  ".join(filter(None, (figures, time)))


def _no_order(view: RunView, analysis: Analysis, level: LevelAnalysis) -> Iterator[Point]:
    """Why nothing is ranked, and what gives ranks."""
    why = why_no_order(view, analysis, level)
    text = why.partition(", so there are no intervals")[0].partition(": see the cautions")[0]
    yield Point("OPEN", text, "", _command_for_order(view, level))


def _command_for_order(view: RunView, level: LevelAnalysis) -> str:
    """The command that gives ranks; none while the run is still under way."""
    if view.state in wording.UNENDED or not level.standings:
        return ""
    everyone = [standing.contender.name for standing in level.standings]
    valid = [standing.contender.name for standing in level.standings if standing.cell.valid]
    names = valid if len(valid) > 1 else everyone
    if view.protocol.origin is not None:  # a replay repeats what has no intervals
        return settled_anew(view, names)
    options = ["--budget", "10m"] if view.settles and (valid or not level.trials) else []
    if view.command[1:2] == ("run",) and _is_noisy(level):
        options.append("--wait-quiet")
    return run_anew(view, names, options)


def _is_noisy(level: LevelAnalysis) -> bool:
    """Whether trials are not valid, and most of these by a gate of the machine."""
    if all(trial.valid for trial in level.trials):
        return False
    cause, _ = most_failed(level.trials)
    return cause in OF_THE_MACHINE or not any(trial.valid for trial in level.trials)


def _unranked(level: LevelAnalysis) -> Iterator[Point]:
    """Who has no rank, grouped by the reason."""
    names_by_reason: dict[str, list[str]] = {}
    for standing in level.standings:
        if standing.reason is not None:
            names_by_reason.setdefault(standing.reason, []).append(standing.name)
    for reason, names in names_by_reason.items():
        yield Point("UNRANKED", f"{_some(names)}: {reason}")


def _pauses(view: RunView, level: LevelAnalysis) -> Iterator[Point]:
    """The servers that pause, those that pause most first."""
    by_share = sorted(pauses_at(view, level).items(), key=lambda item: -item[1].share)
    for name, pauses in by_share:
        yield Point("PAUSES", f"{_shown(view, name)} {pauses.text}")


def _cautions(view: RunView) -> Iterator[Point]:
    """The most serious cautions, in three lines at most; the details are in the full report."""
    all_cautions = cautions(view)
    fits = len(all_cautions) <= CAUTIONS_MAX
    shown = all_cautions if fits else all_cautions[: CAUTIONS_MAX - 1]
    for caution in shown:
        yield Point("CAUTION", one_line(caution.shown, len(caution.shown)))  # never cut
    if not fits:
        more = numbers.count(len(all_cautions) - len(shown), "more caution")
        yield Point("CAUTION", f"{more}: -v")
    if not all_cautions and not view.gates:
        yield Point("CAUTION", none_found(view))


def _noise(view: RunView, analysis: Analysis) -> Iterator[Point]:
    moved = noise_range(view, analysis.main.connections) if analysis.levels else None
    if moved is not None:
        low, high = (f"{round(end):+d}" if round(end) else "0" for end in moved)
        range_ = f"{low} to {high} %" if low != high else "less than 1 %"
        text = f"the control servers, which never change, varied by {range_}"
        yield Point("NOISE", f"{text}: {noise_means(view, analysis.main)}")


def _pair(view: RunView, pair: Pair, sign: str) -> str:
    return f"{_shown(view, pair.faster)} {sign} {_shown(view, pair.slower)}"


def _figures(pair: Pair) -> str:
    """`23 % [1, 49]`: how much faster the first is."""
    middle, interval = numbers.excess(pair.ratio.ratio, pair.ratio.low, pair.ratio.high)
    return f"{middle} % [{', '.join(interval)}]" if interval else f"{middle} % {numbers.UNKNOWN}"


def _some(names: Sequence[str]) -> str:
    shown = [one_line(name, 40) for name in names]
    if len(shown) > NAMES_MAX:
        shown = [*shown[:NAMES_MAX], f"{len(shown) - NAMES_MAX} more"]
    return numbers.listing(shown)


def _shown(view: RunView, name: str) -> str:
    return one_line(shown_name(view, name), 40)
