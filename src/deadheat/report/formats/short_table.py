"""The short table of a result: rank, server, rate, share of the fastest, p99, CPU and memory."""

import math
from collections.abc import Callable, Sequence

from deadheat import numbers
from deadheat.report.findings.analysis import Analysis, Level, Standing
from deadheat.report.findings.lone import runs_alone
from deadheat.report.findings.pauses import MEANING, pauses_at
from deadheat.report.formats.tables import rank, rate, server
from deadheat.report.formats.text_bar import TOP_MAX, axis, bar, plain_bar
from deadheat.report.model.column import Column
from deadheat.report.model.view import RunView

BAR_MIN, BAR_MAX = 10, 30
NOT_RANKED = "not ranked"


def short_columns(view: RunView, analysis: Analysis) -> list[Column]:
    """A row for each standing of the main level, with the share as text and without a bar."""
    level = analysis.main
    best = f"best of {analysis.blocks}\n" if view.aggregate == "best" else ""

    def column(header: str, cell: Callable[[Standing], str], right: bool = True) -> Column:
        return Column(header, tuple(cell(standing) for standing in level.standings), right)

    columns = [
        column("rank", rank, right=False),
        column("server", lambda s: server(view, level, s), right=False),
        column(f"{best}req/s", lambda s: rate(view, s, level.connections)),
        column("% of\nfastest", share),
        column("p99\nms", lambda s: numbers.milliseconds(s.cell.service["p99"])),
        column("CPU\nµs/req", lambda s: numbers.microseconds(s.cell.server_cpu_us_per_request)),
        column("peak\nMiB", lambda s: numbers.mebibytes(s.contender.memory_peak_bytes)),
    ]
    left_out = [] if _has_share(level) else ["% of\nfastest"]
    left_out += ["rank"] if runs_alone(view) else []
    return [column for column in columns if column.header not in left_out]


def with_bars(columns: Sequence[Column], level: Level, cells: int) -> list[Column]:
    """The columns with bars of `cells` characters before the share; without, if too narrow."""
    shares = [place for place, column in enumerate(columns) if column.header == "% of\nfastest"]
    if not shares or cells < BAR_MIN:
        return list(columns)
    cells = min(cells, BAR_MAX)
    top = _top(level)
    bars = Column(
        axis(cells, top), tuple(_bar(standing, cells, top) for standing in level.standings), False
    )
    return [*columns[: shares[0]], bars, *columns[shares[0] :]]


def share(standing: Standing) -> str:
    """`77`; `77 ?` if its interval is unknown; a dash without a share."""
    ratio = standing.ratio_to_leader
    if ratio is None or math.isnan(ratio.ratio):
        return numbers.NONE
    percent = 100 * ratio.ratio
    text = f"{percent:.0f}" if percent >= 10 else f"{percent:.1f}"
    unknown = standing.ranked and not numbers.is_known(ratio.low, ratio.high)
    return f"{text} ?" if unknown else text


def remarks(view: RunView, analysis: Analysis) -> list[str]:
    """What the table does not say by itself."""
    cells = [standing.cell for standing in analysis.main.standings]
    texts = []
    if len(analysis.levels) > 1:
        texts.append(f"at {numbers.count(analysis.main.connections, 'connection')}")
    if view.aggregate == "best":
        texts.append(
            f"rates are the best of {analysis.blocks}, which favors servers with unsteady rates"
        )
    if any(cell.doubtful and cell.rates_per_s for cell in cells):
        texts.append("a rate in brackets comes from invalid trials only")
    if any(share(standing).endswith("?") for standing in analysis.main.standings):
        texts.append("?: the interval is unknown")
    if pauses_at(view, analysis.main):
        texts.append(MEANING)
    return texts


def _bar(standing: Standing, cells: int, top: float) -> str:
    if (ratio := standing.ratio_to_leader) is None:
        return NOT_RANKED
    if standing.ranked:
        return bar(ratio.ratio, ratio.low, ratio.high, cells, top)
    return plain_bar(ratio.ratio, cells, top)


def _top(level: Level) -> float:
    """What the right end of the bars stands for: the highest end of an interval, up to a limit."""
    ends = [
        row.ratio_to_leader.high
        for standing in level.standings
        if (row := standing.row) is not None
        and numbers.is_known(row.ratio_to_leader.low, row.ratio_to_leader.high)
    ]
    return min(max([1.0, *ends]), TOP_MAX)


def _has_share(level: Level) -> bool:
    return any(share(standing) != numbers.NONE for standing in level.standings)
