"""What `deadheat explain` counted: its table, its lines, and its part of the JSON document."""

from collections.abc import Callable, Iterator

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.report.findings.explanation import (
    CALLS,
    calls_of,
    calls_text,
    cell_of,
    explained,
    frames_text,
    gaps,
    left_out,
    signs,
    slowed_text,
    threads_text,
    time_of,
    traced_text,
)
from deadheat.report.findings.points import Point
from deadheat.report.formats import document as to
from deadheat.report.formats.tables import NAME_MAX, Column, column, per_request
from deadheat.report.model.view import ContenderView, RunView

TITLE = "What a request takes"
GAPS_MAX = 6
ALLOCATED = "bytes\nallocated"
COUNTS = {  # of `PerRequest`: the header and the group of a column
    "voluntary_switches": ("switches\nvoluntary", "switches"),
    "involuntary_switches": ("switches\ninvoluntary", "switches"),
    "page_faults": ("page\nfaults", "switches"),
    "packets_in": ("packets\nin", "packets"),
    "packets_out": ("packets\nout", "packets"),
    "bytes_in": ("bytes\nin", "packets"),
}


def explanation_columns(view: RunView) -> list[Column]:
    """A row for each contender that was explained; no columns without any."""
    rows = explained(view)
    if not rows:
        return []

    def time(part: slice) -> Callable[[ContenderView], str]:
        def text(row: ContenderView) -> str:
            us = time_of(row)
            return numbers.microseconds(sum([*us][part]) if us is not None else None)

        return text

    def count(name: str) -> Callable[[ContenderView], str]:
        return lambda row: per_request(getattr(cell_of(row).per_request, name, None))

    def calls(kind: str) -> Callable[[ContenderView], str]:
        return lambda row: per_request(calls_of(row, kind))

    def allocated(row: ContenderView) -> str:
        size = row.explained.allocated_bytes if row.explained is not None else None
        return numbers.NONE if size is None else f"{size:,.0f}"

    columns = [
        column(rows, "server", lambda row: one_line(row.name, NAME_MAX), False),
        column(rows, "CPU\nµs", time(slice(2))),
        column(rows, "user\nµs", time(slice(1))),
        column(rows, "system\nµs", time(slice(1, 2))),
        column(rows, "system\ncalls", calls("all"), group="calls"),
        *(column(rows, f"{kind}\n", calls(kind), group="calls") for kind in CALLS),
        *(
            column(rows, header, count(name), group=group)
            for name, (header, group) in COUNTS.items()
        ),
        column(rows, ALLOCATED, allocated, group="packets"),
    ]
    return [c for c in columns if c.header != ALLOCATED or {*c.cells} != {numbers.NONE}]


def explanation_points(view: RunView) -> Iterator[Point]:
    """The gaps, neighbors first, then signs of mistakes and what is left out."""
    all_gaps = gaps(view)
    for gap in all_gaps[:GAPS_MAX]:
        yield Point("GAP", gap.text)
    if len(all_gaps) > GAPS_MAX:
        more = numbers.count(len(all_gaps) - GAPS_MAX, "more pair")
        yield Point("GAP", f"{more}: --format json")
    for sign in signs(view):
        yield Point("SIGN", f"{one_line(sign.contender)}: {sign.text}", f"fix: {sign.fix}")
    for text in left_out(view):
        yield Point("LEFT OUT", one_line(text, len(text)))


def explanation_details(view: RunView) -> Iterator[str]:
    """System calls, threads and functions of each contender, in lines."""
    for contender in explained(view):
        texts = {
            "system calls per request": calls_text(contender),
            "threads that ran": threads_text(contender),
            "functions": frames_text(contender),
        }
        for what, text in texts.items():
            if text is not None:
                yield f"{one_line(contender.name)}: {what}: {text}"
    yield from filter(None, (slowed_text(view), traced_text(view)))


def explanation_part(view: RunView) -> to.ExplanationPart | None:
    """Of the JSON document; None if nothing was explained."""
    rows = explained(view)
    if not rows:
        return None
    return to.ExplanationPart.model_validate(
        {
            "gaps": gaps(view),
            "servers": [
                {
                    "name": row.name,
                    "user_us": (time_of(row) or (None, None))[0],
                    "system_us": (time_of(row) or (None, None))[1],
                    "per_request": cell_of(row).per_request,
                    "counted": row.explained,
                    "calls": {kind: calls_of(row, kind) for kind in CALLS},
                    "functions": frames_text(row),
                }
                for row in rows
            ],
            "signs": signs(view),
            "details": list(explanation_details(view)),
            "left_out": left_out(view),
        }
    )
