"""The page of one server: its figures in every run, and its verdicts against other servers."""

from collections.abc import Sequence

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.report import wording
from deadheat.serve.chart import Mark, chart
from deadheat.serve.markup import Html, Number, link, table
from deadheat.site.entry import Figures, Meeting
from deadheat.site.shell import comparison_file, heading, page, preview_tags, run_file
from deadheat.workload import HELLO, Level

HEADER = (
    "run",
    "version",
    *map(Number, ("connections", "rank", "req/s", "% of the fastest", "p99, ms")),
    *map(Number, ("CPU, µs/request", "peak, MiB")),
    "note",
)
OPPONENTS = ("opponent", "verdict of the newest run", Number("connections"), Number("runs"))
ROOT = "../"


def server_page(
    name: str, figures: Sequence[Figures], newest: Sequence[tuple[Meeting, int]]
) -> str:
    """`figures` with the newest first; `newest` has a meeting and the number of runs for each
    opponent."""
    shown = one_line(name, 80)
    parts = [
        *(_chart(figures, level) for level in _levels(figures)),
        table("Every run, the newest first", HEADER, [_row(each) for each in figures]),
    ]
    if newest:
        rows = [_opponent(name, meeting, runs) for meeting, runs in newest]
        parts += [heading("Against other servers"), table("Verdicts", OPPONENTS, rows)]
    count = numbers.count(len({each.run.run_id for each in figures}), "run")
    return page(shown, parts, root=ROOT, preview=preview_tags(shown, f"Measured in {count}."))


def _row(figures: Figures) -> tuple[object, ...]:
    run = figures.run
    return (
        link(f"{ROOT}{run_file(run.run_id)}", numbers.moment(run.started_at)),
        one_line(figures.version or numbers.NONE, 40),
        Number(wording.load(figures.level.workload, figures.level.connections)),
        Number(figures.rank),
        Number(numbers.rate(figures.rate_per_s)),
        Number(figures.of_fastest),
        Number(numbers.milliseconds(figures.p99_us)),
        Number(numbers.microseconds(figures.cpu_us)),
        Number(numbers.mebibytes(figures.memory_bytes)),
        one_line(f"not ranked: {figures.reason}") if figures.reason else "",
    )


def _opponent(name: str, meeting: Meeting, runs: int) -> tuple[object, ...]:
    opponent = next(each for each in meeting.names if each != name)
    return (
        link(f"{ROOT}{comparison_file(name, opponent)}", one_line(opponent, 60)),
        meeting.headline,
        Number(wording.load(meeting.level.workload, meeting.level.connections)),
        Number(str(runs)),
    )


def _levels(figures: Sequence[Figures]) -> list[Level]:
    """The levels with a rate in two runs or more: one run needs no chart."""
    levels = sorted({each.level for each in figures}, key=lambda at: (at.workload != HELLO, at))
    return [level for level in levels if len(_marks(figures, level)) > 1]


def _chart(figures: Sequence[Figures], level: Level) -> Html:
    caption = f"req/s at {one_line(str(level))}, run by run"
    return chart(f"{caption}; machines may differ", _marks(figures, level))


def _marks(figures: Sequence[Figures], level: Level) -> list[Mark]:
    at_level = [each for each in reversed(figures) if each.level == level and each.rate_per_s]
    return [
        Mark(
            run_id=each.run.run_id,
            date=f"{each.run.started_at:%Y-%m-%d}",
            version=one_line(each.version or numbers.NONE, 14),
            median_per_s=each.rate_per_s or 0.0,
            slowest_per_s=each.slowest_per_s or each.rate_per_s or 0.0,
            fastest_per_s=max(each.fastest_per_s or 0.0, each.rate_per_s or 0.0),
        )
        for each in at_level
    ]
