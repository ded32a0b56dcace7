"""`Column`, and every table of a report but those in the layouts of published pages, as columns."""

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

from deadheat import numbers
from deadheat.campaign.past import COMMON_RATE
from deadheat.foreign_text import one_line
from deadheat.report.findings.analysis import Analysis, LevelAnalysis, Standing
from deadheat.report.findings.common_rate import capacities
from deadheat.report.findings.pauses import MEANING, SIGN, pauses_at
from deadheat.report.findings.precision import runs_alone
from deadheat.report.findings.profile import Profile, Share
from deadheat.report.findings.scaling import Curve, CurvePoint
from deadheat.report.model.view import ContenderView, RunView
from deadheat.store.json_columns import Behavior
from deadheat.store.rows import StoredInstance
from deadheat.workload import Level as WorkloadLevel

NAME_MAX = 30  # characters of a name in a table
AXIS_MIN = 12
TOP_MAX = 1.25  # of the fastest, at the right end: an interval may pass it
FULL, HATCHED, FADED, LINE, LOW, HIGH = "█", "▒", "░", "─", "├", "┤"
BAR_MIN, BAR_MAX = 10, 30
NOT_RANKED = "not ranked"
SHARE = "% of\nfastest"
IN_BRACKETS = "a rate in brackets comes from invalid trials only"
PROFILE = "Profile: % of the best on each workload"
QUESTIONS = {
    "framing": "framing",
    "head_bytes": "head\nbytes",
    "keep_alive": "keep-alive",
    "close_honored": "closes\nwhen asked",
    "http_1_0": "HTTP/1.0",
    "head": "HEAD",
    "pipelined": "pipelined\nof 2",
    "server_header": "Server",
}

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Column:
    """One column, as text. A header's second line, after a newline, is its unit or its level.

    Columns of one `group` stay together if a table is split.
    """

    header: str
    cells: tuple[str, ...]
    right: bool = True
    group: str = "order"


def column(
    rows: Iterable[Row],
    header: str,
    cell: Callable[[Row], str],
    right: bool = True,
    group: str = "order",
) -> Column:
    """The column with a cell for each row."""
    return Column(header, tuple(map(cell, rows)), right, group)


def ranking_columns(
    view: RunView, analysis: Analysis, level: LevelAnalysis, rates_at: Sequence[int]
) -> list[Column]:
    """A row for each standing of a level; the most important columns first.

    A rate in brackets comes from invalid trials only.
    """
    rows = level.standings

    def rates(connections: int) -> Column:
        header = f"{_best(view, analysis)}req/s\nat {connections:,}"
        group = "order" if connections == level.connections else "levels"
        return column(rows, header, lambda s: rate(view, s, connections), group=group)

    with_database = any(row.cell.database_cpu_us_per_request is not None for row in rows)
    held = f"\n[{numbers.percent(level.ranking.level.confidence, 0)}]" if level.ranking else ""
    columns = [
        column(rows, "rank", rank, False),
        column(rows, "server", lambda s: server(view, level, s), False),
        *map(rates, rates_at),
        column(rows, f"% of leader{held}", of_leader, False),
        column(rows, "spread\n%", spread, group="spread"),
        column(rows, "p50\nms", lambda s: _service_ms(s, "p50"), group="latency"),
        column(rows, "p99\nms", lambda s: _service_ms(s, "p99"), group="latency"),
        column(rows, "CPU\nµs/req", _cpu_us, group="latency"),
        column(
            rows,
            "DB CPU\nµs/req",
            lambda s: numbers.microseconds(s.cell.database_cpu_us_per_request),
            group="latency",
        ),
        column(rows, "user\nµs/req", _part("user_us"), group="parts"),
        column(rows, "system\nµs/req", _part("system_us"), group="parts"),
        column(rows, "voluntary\nswitches/req", _part("voluntary_switches"), group="parts"),
        column(rows, "involuntary\nswitches/req", _part("involuntary_switches"), group="parts"),
        column(rows, "packets\nin/req", _part("packets_in"), group="packets"),
        column(rows, "packets\nout/req", _part("packets_out"), group="packets"),
        column(rows, "bytes\nin/req", _part("bytes_in"), group="packets"),
        column(rows, "peak\nMiB", _peak_mib, group="cost"),
        column(rows, "errors\nreq", lambda s: f"{errors(s):,}", group="cost"),
        column(rows, "version", lambda s: _short(s.contender.version), False, "version"),
        column(rows, "language", lambda s: _short(s.contender.language), False, "language"),
        column(rows, "trials\nvalid", _valid, group="trials"),
    ]
    left_out = ["rank", f"% of leader{held}"] if runs_alone(view) else []
    left_out += [] if with_database else ["DB CPU\nµs/req"]
    shown = [each for each in columns if each.header not in left_out]
    unknown = [each for each in shown if {*each.cells} <= {numbers.NONE}]
    return [each for each in shown if each.group not in ("parts", "packets") or each not in unknown]


def short_columns(view: RunView, analysis: Analysis) -> list[Column]:
    """A row for each standing of the main level, with the share as text and without a bar."""
    level = analysis.main
    rows = level.standings
    columns = [
        column(rows, "rank", rank, False),
        column(rows, "server", lambda s: server(view, level, s), False),
        column(rows, f"{_best(view, analysis)}req/s", lambda s: rate(view, s, level.connections)),
        column(rows, SHARE, share),
        column(rows, "p99\nms", lambda s: _service_ms(s, "p99")),
        column(rows, "CPU\nµs/req", _cpu_us),
        column(rows, "peak\nMiB", _peak_mib),
    ]
    left_out = [] if any(share(row) != numbers.NONE for row in rows) else [SHARE]
    left_out += ["rank"] if runs_alone(view) else []
    return [each for each in columns if each.header not in left_out]


def with_bars(columns: Sequence[Column], level: LevelAnalysis, cells: int) -> list[Column]:
    """The columns with bars of `cells` characters before the share; without, if too narrow."""
    shares = [place for place, each in enumerate(columns) if each.header == SHARE]
    if not shares or cells < BAR_MIN:
        return list(columns)
    cells = min(cells, BAR_MAX)
    top = _top(level)
    bars = column(level.standings, axis(cells, top), lambda s: _bar(s, cells, top), False)
    return [*columns[: shares[0]], bars, *columns[shares[0] :]]


def offered_columns(view: RunView) -> list[Column]:
    """A row for each offered rate of each contender; no columns if there was none."""
    rows = [(c, cell) for c in view.contenders for cell in c.offered if cell.kind != COMMON_RATE]
    if not rows:
        return []
    contenders, cells = zip(*rows, strict=True)
    return [
        column(contenders, "server", name, False),
        column(cells, "connections", lambda cell: f"{cell.connections:,}"),
        column(cells, "offered\nreq/s", lambda cell: numbers.rate(cell.offered_rate_per_s)),
        column(cells, "achieved\nreq/s", lambda cell: numbers.rate(cell.achieved_rate_per_s)),
        column(cells, "p50\nms", lambda cell: numbers.milliseconds(cell.response["p50"])),
        column(cells, "p99\nms", lambda cell: numbers.milliseconds(cell.response["p99"])),
        column(cells, "p99.9\nms", lambda cell: numbers.milliseconds(cell.response["p99_9"])),
        column(cells, "trials\nvalid", lambda cell: f"{cell.trials_valid}/{len(cell.trials)}"),
    ]


def capacity_columns(view: RunView) -> list[Column]:
    """A row for each contender that was searched; no columns if there was none."""
    rows = capacities(view)
    searched = [row.capacity for row in rows]
    if not rows:
        return []
    return [
        column(searched, "server", lambda c: one_line(c.name, NAME_MAX), False),
        column(searched, "held\nreq/s", lambda c: numbers.rate(c.rate_per_s or None)),
        column(searched, "not held\nreq/s", lambda c: numbers.rate(c.above_per_s)),
        column(rows, "per CPU\nreq/s", lambda row: numbers.rate(row.rate_per_s_per_cpu)),
        column(rows, "per 100 MiB\nreq/s", lambda row: numbers.rate(row.rate_per_s_per_100_mib)),
        column(
            rows, "CPU\nµs/req", lambda row: numbers.microseconds(row.server_cpu_us_per_request)
        ),
        column(rows, "peak\nMiB", lambda row: numbers.mebibytes(row.memory_peak_bytes)),
        column(searched, "trials", lambda c: f"{c.trials:,}"),
    ]


def profile_columns(overview: Profile) -> list[Column]:
    """A row for each server, a column for each workload: ratio to the best with its interval."""
    rows = overview.rows

    def shares(level: WorkloadLevel) -> Column:
        header = f"{one_line(level.workload, NAME_MAX)}\nat {level.connections:,}"
        return column(rows, header, lambda r: _of_best(r.on(level.workload)), False, level.workload)

    names = column(rows, "server", lambda row: one_line(row.name, NAME_MAX), False)
    return [names, *map(shares, overview.levels)]


def scaling_columns(view: RunView, level: LevelAnalysis, curves: Sequence[Curve]) -> list[Column]:
    """A row for each server and worker count; no columns if no server has several."""
    if not curves:
        return []
    names = [one_line(curve.name, NAME_MAX) for curve in curves for _ in curve.points]
    points = [point for curve in curves for point in curve.points]
    rows = [point.standing for point in points]
    held = f"\n[{numbers.percent(level.ranking.level.confidence, 0)}]" if level.ranking else ""
    fewest = {curve.points[0].workers for curve in curves}
    base = numbers.count(fewest.pop(), "worker") if len(fewest) == 1 else "the fewest"
    return [
        column(names, "server", str, False),
        column(points, "workers", lambda point: f"{point.workers:,}"),
        column(rows, "req/s", lambda s: rate(view, s, level.connections)),
        column(points, f"times {base}{held}", _gain, False),
        column(rows, "CPU\nµs/req", _cpu_us),
        column(rows, "trials\nvalid", _valid),
    ]


def behavior_columns(view: RunView) -> list[Column]:
    """A row for each contender that started; no columns if none did."""
    started = [contender for contender in view.contenders if contender.starts]
    if not started:
        return []
    behaviors = [
        next((start.behavior for start in contender.starts if start.behavior), Behavior())
        for contender in started
    ]
    return [
        column(started, "server", name, False),
        column(started, "ready\nms", lambda contender: _ready_ms(contender.starts)),
        column(started, "steady state", lambda contender: _steady(contender.starts), False),
        *(
            column(map(attrgetter(key), behaviors), header, answer, False)
            for key, header in QUESTIONS.items()
        ),
    ]


def server(view: RunView, level: LevelAnalysis, standing: Standing) -> str:
    """Its name, with a sign if it pauses."""
    name = one_line(standing.name, NAME_MAX)
    return f"{name} {SIGN}" if standing.contender.name in pauses_at(view, level) else name


def rank(standing: Standing) -> str:
    """`3`, `2–4`, or a dash if it is not ranked."""
    if standing.row is None or not standing.ranked:
        return numbers.NONE
    return standing.row.rank.replace("-", "–")


def rate(view: RunView, standing: Standing, connections: int) -> str:
    """The rate at a level; in brackets if it comes from invalid trials only."""
    cell = standing.contender.cells.get(connections)
    per_s = cell.rate_per_s(view.aggregate) if cell else None
    if cell is None or per_s is None:
        return numbers.NONE
    return f"({numbers.rate(per_s)})" if cell.doubtful else numbers.rate(per_s)


def of_leader(standing: Standing) -> str:
    """`61.2 [60.1–62.4]`, in percent of the leader's rate."""
    ratio = standing.ratio_to_leader
    if ratio is None:
        return numbers.NONE
    return numbers.of_leader(ratio.ratio, ratio.low, ratio.high, standing.ranked)


def share(standing: Standing) -> str:
    """`77`; `77 ?` if its interval is unknown; a dash without a share."""
    ratio = standing.ratio_to_leader
    if ratio is None or math.isnan(ratio.ratio):
        return numbers.NONE
    percent = 100 * ratio.ratio
    text = f"{percent:.0f}" if percent >= 10 else f"{percent:.1f}"
    unknown = standing.ranked and not numbers.is_known(ratio.low, ratio.high)
    return f"{text} ?" if unknown else text


def spread(standing: Standing) -> str:
    """`-2.1 +3.4`: the slowest and the fastest repetition, in percent from the median."""
    ends, middle = standing.cell.spread_per_s, standing.cell.rate_per_s("median")
    if ends is None or middle is None:
        return numbers.NONE
    return " ".join(f"{100 * (end / middle - 1):+.1f}" for end in ends)


def errors(standing: Standing) -> int:
    """Failed requests at all levels."""
    return sum(cell.errors.total() for cell in standing.contender.cells.values())


def answer(value: object) -> str:
    """One observed behavior as a table cell."""
    if value is None:
        return numbers.NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return one_line(str(value), 30)


def remarks(view: RunView, analysis: Analysis) -> list[str]:
    """What the short table does not say by itself."""
    rows = analysis.main.standings
    texts = []
    if len(analysis.levels) > 1:
        texts.append(f"at {numbers.count(analysis.main.connections, 'connection')}")
    if view.aggregate == "best":
        texts.append(_aggregate_note(view, analysis))
    if any(row.cell.doubtful and row.cell.rates_per_s for row in rows):
        texts.append(IN_BRACKETS)
    if any(share(row).endswith("?") for row in rows):
        texts.append("?: the interval is unknown")
    if pauses_at(view, analysis.main):
        texts.append(MEANING)
    return texts


def notes(view: RunView, analysis: Analysis) -> tuple[str, ...]:
    """Notes on how to read the whole table."""
    cells = [standing.cell for standing in analysis.main.standings]
    if analysis.blocks == 0:
        return ()
    texts = [_aggregate_note(view, analysis)]
    if any(cell.spread_per_s for cell in cells):
        texts.append("spread: slowest and fastest trial around the median")
    if len(analysis.levels) > 1:
        at = numbers.count(analysis.main.connections, "connection")
        texts.append(f"order, spread, latency and CPU are at {at}")
    if any(cell.doubtful and cell.rates_per_s for cell in cells):
        texts.append(IN_BRACKETS)
    if any(not cell.service.merged for cell in cells):
        generator = view.protocol.generator
        texts.append(f"p50 and p99 are medians over trials of what {generator} printed")
    else:
        texts.append("p50 and p99: service time under full load")
        if any(cell.service.requests and cell.service["p99"] is None for cell in cells):
            texts.append("a p99 needs 10,000 requests")
    return tuple(texts)


def bar(ratio: float, low: float, high: float, cells: int, top: float) -> str:
    """A bar of at most `cells` characters, in which `top` times the fastest reaches the end.

    A known interval is a whisker around the end of the bar. An unknown one fades out to the end.
    A NaN `ratio` has no bar.
    """
    if math.isnan(ratio):
        return ""
    end = _cells_of(ratio, cells, top)
    if not numbers.is_known(low, high):
        return FULL * (end // 2) + HATCHED * (end - end // 2) + FADED * (cells - end)
    first, last = _cells_of(low, cells, top), _cells_of(high, cells, top)
    if last - first < 2:
        return FULL * end
    signs = [FULL if place < end else LINE for place in range(last)]
    signs[first:last] = [LINE] * (last - first)
    signs[first], signs[-1] = LOW, HIGH if high <= top else FADED
    signs[min(max(end - 1, first), last - 1)] = FULL
    return "".join(signs)


def axis(cells: int, top: float) -> str:
    """`0        50        100` above the bars; empty if there is no room."""
    signs = [" "] * cells
    signs[0] = "0"
    for text, ratio in (("50", 0.5), ("100", 1.0)):
        end = _cells_of(ratio, cells, top)
        signs[end - len(text) : end] = text
    return "".join(signs).rstrip() if cells >= AXIS_MIN else ""


def _cells_of(ratio: float, cells: int, top: float) -> int:
    """How many cells a share fills: at least one."""
    return min(cells, max(1, round(ratio / top * cells)))


def _bar(standing: Standing, cells: int, top: float) -> str:
    if (ratio := standing.ratio_to_leader) is None:
        return NOT_RANKED
    if standing.ranked or math.isnan(ratio.ratio):
        return bar(ratio.ratio, ratio.low, ratio.high, cells, top)
    return HATCHED * _cells_of(ratio.ratio, cells, top)


def _top(level: LevelAnalysis) -> float:
    """What the right end of the bars stands for: the highest end of an interval, up to a limit."""
    ends = [
        row.ratio_to_leader.high
        for standing in level.standings
        if (row := standing.row) is not None
        and numbers.is_known(row.ratio_to_leader.low, row.ratio_to_leader.high)
    ]
    return min(max([1.0, *ends]), TOP_MAX)


def _best(view: RunView, analysis: Analysis) -> str:
    return f"best of {analysis.blocks}\n" if view.aggregate == "best" else ""


def _aggregate_note(view: RunView, analysis: Analysis) -> str:
    if view.aggregate == "best":
        return f"rates are the best of {analysis.blocks}, which favors servers with unsteady rates"
    if view.sliced:
        return f"rates come from a model of all slices in {numbers.count(analysis.blocks, 'block')}"
    noun = "repetition" if view.protocol.kind == "alone" else "block"
    return f"rates are {view.aggregate}s over {numbers.count(analysis.blocks, noun)}"


def name(contender: ContenderView) -> str:
    return one_line(contender.label or contender.name, NAME_MAX)


def _short(text: str | None) -> str:
    return one_line(text or "", 12)


def _service_ms(standing: Standing, quantile: str) -> str:
    return numbers.milliseconds(standing.cell.service[quantile])


def _cpu_us(standing: Standing) -> str:
    return numbers.microseconds(standing.cell.server_cpu_us_per_request)


def _part(name: str) -> Callable[[Standing], str]:
    """The text of a figure of `PerRequest`: microseconds or a count."""

    def text(standing: Standing) -> str:
        value = getattr(standing.cell.per_request, name, None)
        return numbers.microseconds(value) if name.endswith("_us") else per_request(value)

    return text


def per_request(value: float | None) -> str:
    """A count for each request: `0.05`, `12.30` or `140`."""
    if value is None:
        return numbers.NONE
    return numbers.figure(value) if value >= 100 else f"{value:.2f}"


def _peak_mib(standing: Standing) -> str:
    return numbers.mebibytes(standing.contender.memory_peak_bytes)


def _valid(standing: Standing) -> str:
    return f"{len(standing.cell.valid)}/{len(standing.cell.trials)}"


def _of_best(part: Share | None) -> str:
    """`61.2 [60.1–62.4]`; a dash where the server lacks the workload or has no rate."""
    return numbers.NONE if part is None else numbers.of_leader(part.ratio, part.low, part.high)


def _gain(point: CurvePoint) -> str:
    """The rate over that with the fewest workers; in brackets if one of them is doubtful."""
    gain = point.gain
    if gain is None:
        return numbers.NONE
    if point.doubtful:
        return f"({gain.ratio:.2f})"
    if gain.low is None or gain.high is None:
        return f"{gain.ratio:.2f}"
    return interval(gain.ratio, gain.low, gain.high)


def interval(ratio: float, low: float | None, high: float | None) -> str:
    """`1.23 [1.20–1.27]`, or `1.23 [unknown]`."""
    if low is None or high is None or not numbers.is_known(low, high):
        return f"{ratio:.2f} {numbers.UNKNOWN}"
    return f"{ratio:.2f} [{low:.2f}–{high:.2f}]"


def _ready_ms(starts: Sequence[StoredInstance]) -> str:
    known = [start.ready_s for start in starts if start.ready_s is not None]
    return f"{1000 * statistics.median(known):,.0f}" if known else numbers.NONE


def _steady(starts: Sequence[StoredInstance]) -> str:
    """The steady-state classes of its starts, with the longest time to become steady."""
    checks = [start.steady for start in starts if start.steady]
    kinds = ", ".join(dict.fromkeys(str(steady.kind) for steady in checks))
    after_s = [
        steady.start * steady.window_s
        for steady in checks
        if steady.start is not None and steady.window_s is not None
    ]
    return f"{kinds}, {max(after_s):.1f} s" if after_s else kinds or numbers.NONE
