"""The tables that the terminal and Markdown share, as columns of text."""

import math
from collections.abc import Callable, Sequence

from deadheat.report import format
from deadheat.report.findings.analysis import Analysis, Level, Standing
from deadheat.report.findings.lone import runs_alone
from deadheat.report.findings.pauses import SIGN, pauses_at
from deadheat.report.model.column import NAME_MAX, Column
from deadheat.report.model.view import OfferedCell, RunView


def ranking_columns(
    view: RunView, analysis: Analysis, level: Level, rates_at: Sequence[int]
) -> list[Column]:
    """A row for each standing of a level; the most important columns first.

    A rate in brackets comes from invalid trials only.
    """

    def column(
        header: str, cell: Callable[[Standing], str], group: str = "order", right: bool = True
    ) -> Column:
        cells = tuple(cell(standing) for standing in level.standings)
        return Column(header, cells, right, group)

    cells = [standing.cell for standing in level.standings]
    with_database = any(cell.database_cpu_us_per_request is not None for cell in cells)
    order = [] if runs_alone(view) else [column("rank", rank, right=False)]
    ratio = [] if runs_alone(view) else [column(_ratio_header(level), of_leader, right=False)]
    return [
        *order,
        column("server", lambda s: server(view, level, s), right=False),
        *(_rates(view, analysis, level, connections) for connections in rates_at),
        *ratio,
        column("spread\n%", spread, "spread"),
        column("p50\nms", lambda s: format.milliseconds(s.cell.service["p50"]), "latency"),
        column("p99\nms", lambda s: format.milliseconds(s.cell.service["p99"]), "latency"),
        column(
            "CPU\nµs/req",
            lambda s: format.microseconds(s.cell.server_cpu_us_per_request),
            "latency",
        ),
        *([column("DB CPU\nµs/req", database_cpu, "latency")] if with_database else []),
        column("peak\nMiB", lambda s: format.mebibytes(s.contender.memory_peak_bytes), "cost"),
        column("errors\nreq", lambda s: f"{errors(s):,}", "cost"),
        column("version", lambda s: format.plain(s.contender.version or "", 12), "version", False),
        column(
            "language", lambda s: format.plain(s.contender.language or "", 12), "language", False
        ),
        column("trials\nvalid", lambda s: f"{len(s.cell.valid)}/{len(s.cell.trials)}", "trials"),
    ]


def offered_columns(view: RunView) -> list[Column]:
    """A row for each offered rate of each contender; no columns if there was none."""
    rows = [(contender, cell) for contender in view.contenders for cell in contender.offered]

    def column(header: str, cell: Callable[[OfferedCell], str]) -> Column:
        return Column(header, tuple(cell(row) for _, row in rows))

    if not rows:
        return []
    names = tuple(
        format.plain(contender.label or contender.name, NAME_MAX) for contender, _ in rows
    )
    return [
        Column("server", names, right=False),
        column("connections", lambda row: f"{row.connections:,}"),
        column("offered\nreq/s", lambda row: format.rate(row.offered_rate_per_s)),
        column("achieved\nreq/s", lambda row: format.rate(row.achieved_rate_per_s)),
        column("p50\nms", lambda row: format.milliseconds(row.response["p50"])),
        column("p99\nms", lambda row: format.milliseconds(row.response["p99"])),
        column("p99.9\nms", lambda row: format.milliseconds(row.response["p99_9"])),
        column("trials\nvalid", lambda row: f"{row.trials_valid}/{len(row.trials)}"),
    ]


def server(view: RunView, level: Level, standing: Standing) -> str:
    """Its name, with a sign if it pauses."""
    name = format.plain(standing.name, NAME_MAX)
    return f"{name} {SIGN}" if standing.contender.name in pauses_at(view, level) else name


def rank(standing: Standing) -> str:
    """`3`, `2–4`, or a dash if it is not ranked."""
    if standing.row is None or not standing.ranked:
        return format.NONE
    return standing.row.rank.replace("-", "–")


def database_cpu(standing: Standing) -> str:
    """CPU time of the database for a request, beside the server's."""
    return format.microseconds(standing.cell.database_cpu_us_per_request)


def of_leader(standing: Standing) -> str:
    """`61.2 [60.1–62.4]`, in percent of the leader's rate.

    `61.2 [unknown]` if the interval is too wide to say anything; only `61.2` without a rank.
    """
    ratio = standing.ratio_to_leader
    if ratio is None or math.isnan(ratio.ratio):
        return format.NONE
    if ratio.low == ratio.high == 1:
        return "100"
    percent = f"{100 * ratio.ratio:.1f}"
    if not format.is_known(ratio.low, ratio.high):
        return f"{percent} {format.UNKNOWN}" if standing.ranked else percent
    return f"{percent} [{100 * ratio.low:.1f}–{100 * ratio.high:.1f}]"


def errors(standing: Standing) -> int:
    """Failed requests at all levels."""
    return sum(cell.errors.total() for cell in standing.contender.cells.values())


def rate(view: RunView, standing: Standing, connections: int) -> str:
    """The rate at a level; in brackets if it comes from invalid trials only."""
    cell = standing.contender.cells.get(connections)
    per_s = cell.rate_per_s(view.aggregate) if cell else None
    if cell is None or per_s is None:
        return format.NONE
    return f"({format.rate(per_s)})" if cell.doubtful else format.rate(per_s)


def spread(standing: Standing) -> str:
    """`-2.1 +3.4`: the slowest and the fastest repetition, in percent from the median."""
    ends, middle = standing.cell.spread_per_s, standing.cell.rate_per_s("median")
    if ends is None or middle is None:
        return format.NONE
    return " ".join(f"{100 * (end / middle - 1):+.1f}" for end in ends)


def notes(view: RunView, analysis: Analysis) -> tuple[str, ...]:
    """Notes on how to read the table."""
    cells = [standing.cell for standing in analysis.main.standings]
    if analysis.blocks == 0:
        return ()
    texts = [_aggregate_note(view, analysis)]
    if any(cell.spread_per_s for cell in cells):
        texts.append("spread: slowest and fastest trial around the median")
    if len(analysis.levels) > 1:
        at = format.count(analysis.main.connections, "connection")
        texts.append(f"order, spread, latency and CPU are at {at}")
    if any(cell.doubtful and cell.rates_per_s for cell in cells):
        texts.append("a rate in brackets comes from invalid trials only")
    if any(not cell.service.merged for cell in cells):
        generator = view.protocol.generator
        texts.append(f"p50 and p99 are medians over trials of what {generator} printed")
    else:
        texts.append("p50 and p99: service time under full load")
        if any(cell.service.requests and cell.service["p99"] is None for cell in cells):
            texts.append("a p99 needs 10,000 requests")
    return tuple(texts)


def _rates(view: RunView, analysis: Analysis, level: Level, connections: int) -> Column:
    best = f"best of {analysis.blocks}\n" if view.aggregate == "best" else ""
    return Column(
        f"{best}req/s\nat {connections:,}",
        tuple(rate(view, standing, connections) for standing in level.standings),
        group="order" if connections == level.connections else "levels",
    )


def _ratio_header(level: Level) -> str:
    if level.ranking is None:
        return "% of leader"
    return f"% of leader\n[{format.percent(level.ranking.level.confidence, 0)}]"


def _aggregate_note(view: RunView, analysis: Analysis) -> str:
    if view.aggregate == "best":
        return f"rates are the best of {analysis.blocks}, which favors servers with unsteady rates"
    if view.sliced:
        return f"rates come from a model of all slices in {format.count(analysis.blocks, 'block')}"
    noun = "repetition" if view.protocol.residency == "alone" else "block"
    return f"rates are {view.aggregate}s over {format.count(analysis.blocks, noun)}"
