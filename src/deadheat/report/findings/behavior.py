"""How each server started and how it behaves: its behaviour card, in columns."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from deadheat.report import format
from deadheat.report.model.column import NAME_MAX, Column
from deadheat.report.model.view import ContenderView, RunView
from deadheat.store.rows import StoredInstance

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


def behavior_columns(view: RunView) -> list[Column]:
    """A row for each contender that started; none where nothing did."""
    started = [one for one in view.contenders if one.starts]
    if not started:
        return []
    behaviors = [_behavior(one) for one in started]
    return [
        Column("server", tuple(_name(one) for one in started), right=False),
        Column("ready\nms", tuple(_ready_ms(one.starts) for one in started)),
        Column("steady state", tuple(_steady(one.starts) for one in started), right=False),
        *(
            Column(header, tuple(answer(behavior.get(key)) for behavior in behaviors), right=False)
            for key, header in QUESTIONS.items()
        ),
    ]


def _name(one: ContenderView) -> str:
    return format.plain(one.label or one.name, NAME_MAX)


def _behavior(one: ContenderView) -> Mapping[str, Any]:
    return next((start.behavior for start in one.starts if start.behavior), {})


def _ready_ms(starts: Sequence[StoredInstance]) -> str:
    known = [start.ready_s for start in starts if start.ready_s is not None]
    return f"{1000 * statistics.median(known):,.0f}" if known else format.NONE


def _steady(starts: Sequence[StoredInstance]) -> str:
    """The classes of its starts, with the longest time it took to become steady."""
    found = [start.steady for start in starts if start.steady]
    kinds = ", ".join(dict.fromkeys(str(steady.get("kind")) for steady in found))
    after_s = [
        steady["start"] * steady["window_s"]
        for steady in found
        if steady.get("start") is not None and steady.get("window_s") is not None
    ]
    return f"{kinds}, {max(after_s):.1f} s" if after_s else kinds or format.NONE


def answer(value: object) -> str:
    """One answer of a behaviour card, as a cell."""
    if value is None:
        return format.NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format.plain(str(value), 30)
