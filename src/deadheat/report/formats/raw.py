"""What the load generator printed: the command and the output of one trial of each contender."""

import shlex
from collections.abc import Iterator

from deadheat.foreign_text import one_line, printable
from deadheat.report.model.evidence import RawOutput
from deadheat.report.model.view import RunView


def write(view: RunView) -> str:
    """Every contender on every workload, of a view that was read whole; ends with a newline."""
    lines = [
        f"{one_line(contender.name)} on {one_line(each.workload)}\n\n"
        f"{raw_text(contender.raw_output)}"
        for each in view.by_workload
        for contender in each.contenders
        if contender.raw_output is not None
    ]
    return "\n".join(lines) if lines else "no trial has output\n"


def raw_text(raw: RawOutput) -> str:
    """One trial: where it was, its command, and what it printed."""
    return "\n".join(_lines(raw)) + "\n"


def _lines(raw: RawOutput) -> Iterator[str]:
    yield (
        f"# start {raw.invocation}, block {raw.block}, {raw.connections:,} connections: the trial "
        "nearest the median rate"
    )
    yield f"$ {one_line(shlex.join(raw.command), 2_000)}"
    for printed in (raw.stdout, raw.stderr):
        if printed.strip():
            yield printable(printed).rstrip()
