"""Shows progress: one live line on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

from deadheat.console import console
from deadheat.events import Event, Listener, Progress
from deadheat.report.format import duration

REFRESH_PER_S = 1  # a live display takes CPU time from the race


@contextmanager
def progress_view() -> Iterator[Listener]:
    """A listener that writes to standard error; standard output is for the table."""
    terminal = console(stderr=True)
    if not sys.stderr.isatty():
        yield _plain_listener(terminal)
        return
    with terminal.status("preparing", refresh_per_second=REFRESH_PER_S) as status:

        def listen(event: Progress | Event) -> None:
            if isinstance(event, Progress):
                status.update(escape(_line(event)))
            else:
                _write(terminal, event)

        yield listen


def _plain_listener(terminal: Console) -> Listener:
    last_stage = ""

    def listen(event: Progress | Event) -> None:
        nonlocal last_stage
        if isinstance(event, Event):
            _write(terminal, event)
        elif (stage := event.what.split(":")[0]) != last_stage:
            last_stage = stage
            terminal.print(escape(_line(event) if event.of else stage), soft_wrap=True)

    return listen


def _write(terminal: Console, event: Event) -> None:
    style = "yellow" if event.trouble else None
    terminal.print(escape(event.what), style=style, soft_wrap=True)


def _line(event: Progress) -> str:
    parts = [event.what]
    if event.of is not None:
        parts.append(f"({event.done + 1} of {event.of})")
    elif event.done:
        parts.append(f"({event.done} trials done)")
    if event.left_s is not None:
        left_s = max(0, round(event.left_s))
        parts.append(f"{duration(left_s) if left_s else '0 s'} left")
    return "  ".join(parts)
