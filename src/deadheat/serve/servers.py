"""The page of a server: its rate run by run, as a chart with one mark per run, and a table."""

import datetime
import math
import re
import shlex
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, starmap
from operator import attrgetter
from typing import TypeVar

from deadheat import numbers
from deadheat.catalog.manifest import BY_STRINGS
from deadheat.edition.findings import Meeting
from deadheat.edition.model import Figures, ServerFacts
from deadheat.errors import StoreError
from deadheat.foreign_text import one_line, printable
from deadheat.measure.contender import REFERENCE
from deadheat.report import wording
from deadheat.report.model.evidence import raw_text
from deadheat.serve.markup import (
    Html,
    NumberCell,
    comparison_file,
    heading,
    link,
    page,
    paragraph,
    preview_tags,
    run_file,
    server_file,
    static_page,
    table,
    text,
    wide,
)
from deadheat.store import Store
from deadheat.store.listing import ValidRate, contender_names, valid_rates
from deadheat.workload import HELLO, Level

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 220, 80, 44, 24, 24
DATES_MAX = 4
LABEL_WIDTH = 110
RADIUS = 4.0
RunLevel = tuple[str, str, int]  # run, workload, connections
TIMELINE_HEADER = (
    "run",
    "started",
    "version",
    *map(
        NumberCell,
        ("connections", "req/s", "slowest – fastest", "valid trials", "of the reference"),
    ),
)
HEADER = (
    "run",
    "version",
    *map(NumberCell, ("connections", "rank", "req/s", "% of the fastest", "p99, ms")),
    *map(NumberCell, ("CPU, µs/request", "peak, MiB")),
    "note",
)
OPPONENTS = ("opponent", "verdict of the newest run", NumberCell("connections"), NumberCell("runs"))
ROOT = "../"
BUILDS = re.compile(r"[^\s'\":]*/builds/[^/\s]+/[0-9a-f]{12}/")  # the folder of a build


@dataclass(frozen=True, slots=True)
class Mark:
    """One run at one level: the median, slowest and fastest repetition, in requests/s."""

    run_id: str
    started_at: datetime.datetime
    version: str | None
    level: Level
    median_per_s: float
    slowest_per_s: float
    fastest_per_s: float
    imported: bool = False

    @property
    def shown_version(self) -> str:
        return one_line(self.version or numbers.NONE, 14)


OfLevel = TypeVar("OfLevel", Mark, Figures)


@dataclass(frozen=True, slots=True)
class RunPoint:
    """A stored run at one level: the rates of its valid trials, and the share of the reference."""

    mark: Mark
    trials: int
    of_reference: float | None


def chart(caption: str, marks: Sequence[Mark], date_format: str = "%Y-%m-%d") -> Html:
    """The chart, with rates from 0, dates below and version changes above. Needs 1 mark or more."""
    scale = _Scale(len(marks), max(mark.fastest_per_s for mark in marks))
    elements = [
        *(_gridline(rate_per_s, scale) for rate_per_s in scale.ticks()),
        *_dates([f"{mark.started_at:{date_format}}" for mark in marks], scale),
        *_versions(marks, scale),
        *(_drawn_mark(mark, scale.x(index), scale) for index, mark in enumerate(marks)),
    ]
    svg = Html(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(caption)}">'
        f"{''.join(elements)}</svg>"
    )
    return Html(f"<figure><figcaption>{text(caption)}</figcaption>{wide(caption, svg)}</figure>")


def shown_server(store: Store, name: str) -> str:
    """The contender of a served page: named as it is, or by the file that a board links to."""
    names = dict.fromkeys(each for several in contender_names(store).values() for each in several)
    files = {server_file(each): each for each in names}
    return name if name in names else files.get(f"servers/{name}", name)


def _of_level(level: Level, several: Sequence[Figures]) -> Iterator[Html]:
    """A server's runs at one level, the newest first in `several`."""
    yield heading(one_line(str(level)))
    marks = [_mark(each) for each in reversed(several) if each.rate_per_s]
    if len(marks) > 1:  # one run needs no chart
        yield chart("req/s, run by run; machines may differ", marks)
    yield table("Every run, the newest first", HEADER, map(_row, several))


def timeline_page(store: Store, name: str) -> str:
    """The served page of one contender. Raises `StoreError` if no run has it."""
    timeline = points(store, name)
    if not timeline:
        if not any(name in names for names in contender_names(store).values()):
            raise StoreError(f"no stored run has a contender {name!r}")
        return page(one_line(name, 80), paragraph("No stored run has a valid trial of it."))
    levels = _by_level([point.mark for point in timeline])
    charts = groupby(levels.items(), key=lambda item: item[0].workload)
    return page(
        one_line(name, 80),
        *(_section(workload, starmap(_timeline_chart, several)) for workload, several in charts),
        table("Every run, the newest first", TIMELINE_HEADER, map(_timeline_row, timeline[::-1])),
    )


def _section(workload: str, parts: Iterable[Html]) -> Html:
    """What a link of the board to a workload leads to."""
    return Html(f'<section id="{anchor(workload)}">{"".join(parts)}</section>')


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The lines that install what a server needs, and build it, as the catalog has them now.

    There are none of a server that no catalog has.
    """

    install: tuple[str, ...] = ()
    build: tuple[str, ...] = ()


def server_page(
    name: str,
    figures: Sequence[Figures],
    newest: Sequence[tuple[Meeting, int]],
    facts: ServerFacts | None,
    bootstrap: Bootstrap,
) -> str:
    """The page in a board. `figures` are those of all runs, the newest first; `newest` has a
    meeting and the number of runs for each opponent that it has a page with."""
    shown = one_line(name, 80)
    parts = [paragraph(_about(facts), "lead")] if facts else []
    levels = groupby(_by_level(figures).items(), key=lambda item: item[0].workload)
    parts += [_section(workload, chain(*starmap(_of_level, of))) for workload, of in levels]
    if newest:
        rows = [_opponent(name, meeting, runs) for meeting, runs in newest]
        parts += [
            heading("Against its neighbors and servers of its language"),
            table("Verdicts", OPPONENTS, rows),
        ]
    if facts:
        parts += [*_bootstrap(facts, bootstrap), *_raw(facts)]
    count = numbers.count(len({each.run.run_id for each in figures}), "run")
    return static_page(shown, parts, ROOT, preview_tags(shown, f"Measured in {count}."))


def anchor(workload: str) -> str:
    """The id of a workload's section."""
    return "w-" + "".join(c if c.isalnum() else "-" for c in workload)[:40]


def _about(facts: ServerFacts) -> Html:
    words = [
        ", ".join(filter(None, [facts.language, facts.framework, facts.kind])),
        f"version {facts.version}" if facts.version else "",
        *facts.notes,
        renders(facts),
    ]
    sentences = [text(one_line(each)) for each in words if each]
    if facts.homepage.startswith(("http://", "https://")):
        sentences.append(link(facts.homepage, one_line(facts.homepage, 80)))
    return Html(". ".join(sentences))


def renders(facts: ServerFacts) -> str:
    """What renders the workload page, without a full stop; empty if the run does not say."""
    if facts.template_engine == BY_STRINGS:
        return "Its own code builds the page from strings"
    return f"{facts.template_engine} renders the page" if facts.template_engine else ""


def _bootstrap(facts: ServerFacts, bootstrap: Bootstrap) -> Iterator[Html]:
    yield heading("Install, build, start")
    start = BUILDS.sub("./", shlex.join(facts.start)) if facts.start else ""
    name = shlex.quote(facts.name)
    workloads = ",".join(facts.workloads)
    repeat = f"deadheat run {name}" + (f" --workload {workloads}" if workloads != HELLO else "")
    if facts.built:
        yield paragraph(f"Built with {one_line('; '.join(facts.built))}.")
    lines = [
        ("install", bootstrap.install),
        ("build", bootstrap.build),
        ("start, as it ran", (start,) if start else ()),
        ("repeat this row", (repeat,)),
    ]
    for label, several in lines:
        if several:
            yield Html(f"<h3>{text(label)}</h3>{_code(chr(10).join(several))}")


def _raw(facts: ServerFacts) -> Iterator[Html]:
    if not facts.raw:
        return
    yield heading("Raw output")
    yield paragraph("What the load generator printed in one trial: deadheat report --raw shows it.")
    for workload, raw in facts.raw.items():
        summary = text(one_line(workload, 40))
        yield Html(f"<details><summary>{summary}</summary>{_code(raw_text(raw))}</details>")


def _code(words: str) -> Html:
    return wide("text", Html(f'<pre dir="ltr">{text(printable(words))}</pre>'))


@dataclass(frozen=True, slots=True)
class _Scale:
    """Positions of marks and rates in the picture, in px."""

    marks: int
    highest_per_s: float

    @property
    def step(self) -> float:
        """The distance between marks."""
        return (WIDTH - LEFT - RIGHT) / max(self.marks - 1, 1)

    def x(self, index: int) -> float:
        """A single mark is in the middle."""
        return LEFT + (WIDTH - LEFT - RIGHT) / 2 if self.marks == 1 else LEFT + index * self.step

    def y(self, rate_per_s: float) -> float:
        share = rate_per_s / self.ticks()[-1]
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)

    def ticks(self) -> list[float]:
        """0 and up to five round rates, the last one at least `highest_per_s`."""
        rough = self.highest_per_s / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(digit * power for digit in (1, 2, 2.5, 5, 10) if digit * power >= rough)
        return [step * index for index in range(math.ceil(self.highest_per_s / step) + 1)]


def _gridline(rate_per_s: float, scale: _Scale) -> str:
    y = scale.y(rate_per_s)
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{numbers.rate(rate_per_s)}</text>'
    )


def _dates(dates: Sequence[str], scale: _Scale) -> Iterator[str]:
    """Dates of evenly spaced runs, each date only once."""
    every = max(1, math.ceil((len(dates) - 1) / (DATES_MAX - 1)))
    last = None
    for index in range(0, len(dates), every):
        if dates[index] != last:
            last = dates[index]
            yield _label(scale.x(index), HEIGHT - 6, last)


def _versions(marks: Sequence[Mark], scale: _Scale) -> Iterator[str]:
    """A line where a version begins, unless its label would overlap the previous one."""
    free, version = 0.0, None
    for index, mark in enumerate(marks):
        if mark.shown_version != version and (x := scale.x(index)) >= free:
            free, version = x + LABEL_WIDTH, mark.shown_version
            yield (
                f'<line class="version" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" '
                f'y2="{HEIGHT - BOTTOM}"/>{_label(x, TOP - 10, version)}'
            )


def _label(x: float, y: float, label: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{text(label)}</text>'


def _drawn_mark(mark: Mark, x: float, scale: _Scale) -> str:
    imported = ", imported" if mark.imported else ""
    title = (
        f"{mark.run_id}{imported}, {mark.shown_version}: {numbers.rate(mark.median_per_s)} req/s"
    )
    return (
        f'<line class="range" x1="{x:.1f}" x2="{x:.1f}" y1="{scale.y(mark.slowest_per_s):.1f}" '
        f'y2="{scale.y(mark.fastest_per_s):.1f}"/>'
        f'<circle cx="{x:.1f}" cy="{scale.y(mark.median_per_s):.1f}" '
        f'r="{min(RADIUS, max(scale.step * 0.45, 1.5)):.1f}"><title>{text(title)}</title></circle>'
    )


def points(store: Store, name: str) -> list[RunPoint]:
    """One point for each run and level, in the order of time."""
    reference = {
        key: statistics.median(trial.rate_per_s for trial in trials)
        for key, trials in _by_run_and_level(store, REFERENCE)
    }
    return [_point(trials, reference.get(key)) for key, trials in _by_run_and_level(store, name)]


def _by_run_and_level(store: Store, name: str) -> Iterator[tuple[RunLevel, list[ValidRate]]]:
    run_and_level = attrgetter("run_id", "workload", "connections")
    for key, trials in groupby(valid_rates(store, name), key=run_and_level):
        yield key, list(trials)


def _point(trials: Sequence[ValidRate], reference_per_s: float | None) -> RunPoint:
    first, rates = trials[0], [trial.rate_per_s for trial in trials]
    median_per_s = statistics.median(rates)
    mark = Mark(
        run_id=first.run_id,
        started_at=first.started_at,
        version=first.version,
        level=Level(first.workload, first.connections),
        median_per_s=median_per_s,
        slowest_per_s=min(rates),
        fastest_per_s=max(rates),
        imported=first.imported,
    )
    of_reference = median_per_s / reference_per_s if reference_per_s else None
    return RunPoint(mark, len(rates), of_reference)


def _by_level(several: Sequence[OfLevel]) -> dict[Level, list[OfLevel]]:
    """Those of each level, of hello first."""
    levels = sorted({each.level for each in several}, key=lambda at: (at.workload != HELLO, at))
    return {level: [each for each in several if each.level == level] for level in levels}


def _timeline_chart(level: Level, marks: Sequence[Mark]) -> Html:
    days = {mark.started_at.date() for mark in marks}
    day = f", {days.pop()}" if len(days) == 1 else ""
    at = numbers.count(level.connections, "connection")
    of = "" if level.workload == HELLO else f", workload {one_line(level.workload, 40)}"
    caption = f"req/s at {at}{of}, run by run{day}"
    return chart(caption, marks, "%H:%M" if day else "%Y-%m-%d")


def _timeline_row(point: RunPoint) -> tuple[object, ...]:
    mark = point.mark
    run = link(f"/runs/{mark.run_id}", mark.run_id)
    return (
        Html(f"{run}, imported") if mark.imported else run,
        numbers.moment(mark.started_at),
        one_line(mark.version or numbers.NONE, 40),
        NumberCell(wording.load(mark.level.workload, mark.level.connections)),
        NumberCell(numbers.rate(mark.median_per_s)),
        NumberCell(f"{numbers.rate(mark.slowest_per_s)} – {numbers.rate(mark.fastest_per_s)}"),
        NumberCell(f"{point.trials:,}"),
        NumberCell(
            numbers.NONE if point.of_reference is None else numbers.percent(point.of_reference)
        ),
    )


def _mark(figures: Figures) -> Mark:
    rate_per_s = figures.rate_per_s or 0.0
    return Mark(
        run_id=figures.run.run_id,
        started_at=figures.run.started_at,
        version=figures.version,
        level=figures.level,
        median_per_s=rate_per_s,
        slowest_per_s=figures.slowest_per_s or rate_per_s,
        fastest_per_s=max(figures.fastest_per_s or 0.0, rate_per_s),
    )


def _row(figures: Figures) -> tuple[object, ...]:
    run = figures.run
    return (
        link(f"{ROOT}{run_file(run.run_id)}", numbers.moment(run.started_at)),
        one_line(figures.version or numbers.NONE, 40),
        NumberCell(wording.load(figures.level.workload, figures.level.connections)),
        NumberCell(figures.rank),
        NumberCell(numbers.rate(figures.rate_per_s)),
        NumberCell(figures.of_fastest),
        NumberCell(numbers.milliseconds(figures.p99_us)),
        NumberCell(numbers.microseconds(figures.cpu_us)),
        NumberCell(numbers.mebibytes(figures.memory_bytes)),
        one_line(f"not ranked: {figures.reason}") if figures.reason else "",
    )


def _opponent(name: str, meeting: Meeting, runs: int) -> tuple[object, ...]:
    opponent = next(each for each in meeting.names if each != name)
    return (
        link(f"{ROOT}{comparison_file(name, opponent)}", one_line(opponent, 60)),
        meeting.headline,
        NumberCell(wording.load(meeting.level.workload, meeting.level.connections)),
        NumberCell(str(runs)),
    )
