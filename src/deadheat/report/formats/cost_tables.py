"""Tables of what servers cost: at common offered rates, over transports, and their footprint."""

from collections.abc import Callable, Sequence
from functools import partial

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.report.findings.common_rate import WORDS, RateStanding, rate_levels
from deadheat.report.findings.footprint import Footprint, MeanOfStarts, footprint, is_read
from deadheat.report.findings.transports import TransportCost, handshakes
from deadheat.report.formats.tables import NAME_MAX, Column, column, interval, name
from deadheat.report.model.facts import grouped
from deadheat.report.model.view import RunView

HANDSHAKES = "Handshakes"
HANDSHAKES_NOTE = (
    "each connection makes a full handshake and gets one answer; CPU time is the server's for the "
    "whole connection"
)


def rate_tables(view: RunView) -> list[tuple[str, list[Column]]]:
    """For each common offered rate, a titled table by CPU time and one by response time."""
    several = len({level.connections for level in rate_levels(view)}) > 1
    return [
        (f"At {numbers.rate(level.offered_rate_per_s)} requests/s{at}, by {words}", columns)
        for level in rate_levels(view)
        for at in [f" and {level.connections:,} connections" if several else ""]
        for words, columns in (
            (WORDS["cost"], _cost_columns(level.cost)),
            (WORDS["wait"], _wait_columns(level.wait)),
        )
    ]


def _cost_columns(rows: Sequence[RateStanding]) -> list[Column]:
    columns = [
        *_rate_columns(rows),
        column(
            rows, "CPU\nµs/req", lambda s: numbers.microseconds(s.cell.server_cpu_us_per_request)
        ),
        column(rows, "times\nthe least", _times),
        column(rows, "CPU\ncores", lambda s: _figure(s.cores)),
        column(rows, "price of\n1M req", lambda s: _figure(s.price_per_million)),
        column(rows, "reached\nreq/s", lambda s: numbers.rate(s.reached_per_s)),
    ]
    has_price = any(row.price_per_million is not None for row in rows)
    return [each for each in columns if has_price or not each.header.startswith("price")]


def _wait_columns(rows: Sequence[RateStanding]) -> list[Column]:
    return [
        *_rate_columns(rows),
        column(rows, "p99\nms", lambda s: numbers.milliseconds(s.cell.response["p99"])),
        column(rows, "times\nthe least", _times),
        column(rows, "p50\nms", lambda s: numbers.milliseconds(s.cell.response["p50"])),
        column(rows, "p99.9\nms", lambda s: numbers.milliseconds(s.cell.response["p99_9"])),
        column(rows, "reached\nreq/s", lambda s: numbers.rate(s.reached_per_s)),
    ]


def _rate_columns(rows: Sequence[RateStanding]) -> list[Column]:
    return [
        column(rows, "rank", lambda s: s.row.rank.replace("-", "–") if s.row else "–", False),
        column(rows, "server", lambda s: one_line(s.name, NAME_MAX), False),
    ]


def _times(standing: RateStanding) -> str:
    """`1.23 [1.20–1.27]`"""
    times = standing.times_least
    if times is None:
        return numbers.NONE
    if times.ratio == times.low == times.high == 1:
        return "1"
    return interval(times.ratio, times.low, times.high)


def _figure(value: float | None) -> str:
    return numbers.NONE if value is None else numbers.figure(value)


def footprint_columns(view: RunView) -> list[Column]:
    """A row for each contender that started; no columns if none was read."""
    if not is_read(view):
        return []
    footprints = [(each, footprint(view, each)) for each in view.contenders]
    started = [contender for contender, each in footprints if each is not None]
    rows = [each for _, each in footprints if each is not None]
    levels = sorted({each.connections for row in rows for each in row.connections})
    columns = [
        column(started, "server", name, False),
        column(rows, "start\nms", lambda r: _spread(r.ready_s, 1e-3)),
        column(rows, "idle\nMiB", lambda r: _spread(r.idle_bytes, numbers.MIB)),
        *(
            column(rows, f"{level:,} idle\nMiB", partial(_idle_at, connections=level), group="idle")
            for level in levels
        ),
        column(
            rows,
            "KiB per\nconnection",
            lambda r: _spread(r.bytes_per_connection, 1024),
            group="idle",
        ),
        column(rows, "peak\nMiB", lambda r: numbers.mebibytes(r.peak_bytes), group="size"),
        column(rows, "build\nMiB", lambda r: numbers.mebibytes(r.build_bytes), group="size"),
        column(rows, "locked\npackages", lambda r: _count(r.dependencies), group="size"),
        column(rows, "processes", lambda r: _count(r.processes), group="size"),
        column(rows, "threads", lambda r: _count(r.threads), group="size"),
        column(rows, "sockets\nMiB", lambda r: numbers.mebibytes(r.socket_bytes), group="size"),
        column(rows, "cache\nMiB", lambda r: numbers.mebibytes(r.cache_bytes), group="size"),
    ]
    optional = ("KiB per", "sockets", "cache")
    return [
        each
        for each in columns
        if not each.header.startswith(optional) or any(c != numbers.NONE for c in each.cells)
    ]


FOOTPRINT_NOTE = (
    "memory is anonymous and shared memory of all processes, without page cache and sockets; in "
    "brackets, the half width of the interval over the starts"
)


def _spread(spread: MeanOfStarts | None, unit: float) -> str:
    """`12.3 [0.4]`: the mean, and half the width of its interval."""
    if spread is None:
        return numbers.NONE
    mean = numbers.figure(spread.mean / unit)
    if spread.low is None:
        return mean
    return f"{mean} [{numbers.figure((spread.mean - spread.low) / unit)}]"


def _idle_at(row: Footprint, connections: int) -> str:
    """Memory with so many idle connections, or how many of them were served."""
    for each in row.connections:
        if each.connections == connections:
            held = f"served {each.held:,}"
            return held if each.bytes is None else _spread(each.bytes, numbers.MIB)
    return numbers.NONE


def _count(number: int | None) -> str:
    return numbers.NONE if number is None else f"{number:,}"


def transport_tables(costs: Sequence[TransportCost]) -> list[tuple[str, list[Column]]]:
    """For each workload and transport, a titled table: the server that loses least comes first."""
    groups = grouped(costs, lambda cost: (cost.workload, cost.by))
    return [
        (
            f"What {one_line(workload, NAME_MAX)} costs beside {one_line(by, NAME_MAX)}",
            [
                column(rows, "server", lambda cost: one_line(cost.name, NAME_MAX), False),
                column(rows, "rate, % of that\n[95 %]", _transport_rate, False),
                column(rows, "CPU µs/req more\n[95 %]", _transport_cpu, False),
                column(rows, "p99 ms more\n[95 %]", _transport_p99, False),
            ],
        )
        for (workload, by), group in groups.items()
        for rows in [sorted(group, key=_loss)]
    ]


def handshake_columns(view: RunView) -> list[Column]:
    """A row for each server and level; no columns if connections were kept, or had no TLS."""
    if not (rows := handshakes(view)):
        return []
    columns = [
        column(rows, "server", lambda row: one_line(row.name, NAME_MAX), False),
        column(rows, "connections", lambda row: f"{row.connections:,}"),
        column(rows, "handshakes/s", lambda row: numbers.rate(row.per_s)),
        column(rows, "p50\nms", lambda row: numbers.milliseconds(row.us_p50)),
        column(rows, "p99\nms", lambda row: numbers.milliseconds(row.us_p99)),
        column(rows, "CPU µs\neach", lambda row: numbers.microseconds(row.server_cpu_us)),
    ]
    return columns if len(view.levels) > 1 else [columns[0], *columns[2:]]


def _loss(cost: TransportCost) -> tuple[bool, float]:
    """Costs without an interval come last."""
    return cost.rate_ratio_low is None, -(cost.rate_ratio or 0.0)


def _transport_rate(cost: TransportCost) -> str:
    return numbers.of_leader(cost.rate_ratio, cost.rate_ratio_low, cost.rate_ratio_high)


def _transport_cpu(cost: TransportCost) -> str:
    interval = (cost.cpu_us_more, cost.cpu_us_more_low, cost.cpu_us_more_high)
    return _signed(interval, lambda us: f"{us:,.1f}")


def _transport_p99(cost: TransportCost) -> str:
    low, high = cost.service_us_p99_more_low, cost.service_us_p99_more_high
    interval = (cost.service_us_p99_more, low, high)
    largest_us = max([abs(each) for each in interval if each is not None], default=0.0)
    decimals = 2 if largest_us < 1_000 else 1 if largest_us < 10_000 else 0
    return _signed(interval, lambda us: f"{us / 1000:,.{decimals}f}")


def _signed(
    interval: tuple[float | None, float | None, float | None], written: Callable[[float], str]
) -> str:
    """`+4.2 [-0.1, +8.5]`"""
    value, low, high = (
        None if each is None else f"{'-' if each < 0 else '+'}{written(abs(each))}"
        for each in interval
    )
    if value is None:
        return numbers.NONE
    known = low is not None and high is not None
    return f"{value} [{low}, {high}]" if known else f"{value} {numbers.UNKNOWN}"
