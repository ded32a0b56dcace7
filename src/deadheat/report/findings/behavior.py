"""How each server started and how it behaves, in columns."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from deadheat import numbers
from deadheat.foreign_text import one_line
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
    """A row for each contender that started; no columns if none did."""
    started = [contender for contender in view.contenders if contender.starts]
    if not started:
        return []
    behaviors = [_behavior(contender) for contender in started]
    return [
        Column("server", tuple(_name(contender) for contender in started), right=False),
        Column("ready\nms", tuple(_ready_ms(contender.starts) for contender in started)),
        Column(
            "steady state", tuple(_steady(contender.starts) for contender in started), right=False
        ),
        *(
            Column(header, tuple(answer(behavior.get(key)) for behavior in behaviors), right=False)
            for key, header in QUESTIONS.items()
        ),
    ]


def _name(contender: ContenderView) -> str:
    return one_line(contender.label or contender.name, NAME_MAX)


def _behavior(contender: ContenderView) -> Mapping[str, Any]:
    return next((start.behavior for start in contender.starts if start.behavior), {})


def _ready_ms(starts: Sequence[StoredInstance]) -> str:
    known = [start.ready_s for start in starts if start.ready_s is not None]
    return f"{1000 * statistics.median(known):,.0f}" if known else numbers.NONE


def _steady(starts: Sequence[StoredInstance]) -> str:
    """The steady-state classes of its starts, with the longest time to become steady."""
    checks = [start.steady for start in starts if start.steady]
    kinds = ", ".join(dict.fromkeys(str(steady.get("kind")) for steady in checks))
    after_s = [
        steady["start"] * steady["window_s"]
        for steady in checks
        if steady.get("start") is not None and steady.get("window_s") is not None
    ]
    return f"{kinds}, {max(after_s):.1f} s" if after_s else kinds or numbers.NONE


def answer(value: object) -> str:
    """One observed behavior as a table cell."""
    if value is None:
        return numbers.NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return one_line(str(value), 30)
