"""Shows progress: a live table and line on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.text import Text

from deadheat import numbers
from deadheat.cli.board_view import board_view
from deadheat.console import console
from deadheat.events import Board, Event, Listener, Progress

REFRESH_PER_S = 1  # a live display takes CPU time from the race


@contextmanager
def progress_view() -> Iterator[Listener]:
    """A listener that writes to standard error; standard output is for the table."""
    terminal = console(stderr=True)
    if not sys.stderr.isatty():
        yield _plain_listener(terminal)
        return
    display = _Display(terminal)
    with Live(display, console=terminal, refresh_per_second=REFRESH_PER_S, transient=True):
        yield display.listen


class _Display:
    """The last board above the present step; events scroll by above both."""

    def __init__(self, terminal: Console) -> None:
        self._terminal = terminal
        self._spinner = Spinner("dots", Text("preparing"))
        self._board: Board | None = None

    def listen(self, event: Progress | Event | Board) -> None:
        if isinstance(event, Board):
            self._board = event
        elif isinstance(event, Progress):
            self._spinner.update(text=Text(_line(event)))
        else:
            _write(self._terminal, event)

    def __rich__(self) -> RenderableType:
        if self._board is None:
            return self._spinner
        height = max(self._terminal.height - 4, 4)
        return Group(*board_view(self._board, height), self._spinner)


def _plain_listener(terminal: Console) -> Listener:
    last_stage = ""

    def listen(event: Progress | Event | Board) -> None:
        nonlocal last_stage
        if isinstance(event, Event):
            _write(terminal, event)
        elif isinstance(event, Progress) and (stage := event.what.split(":")[0]) != last_stage:
            last_stage = stage
            terminal.print(escape(_line(event) if event.of else stage), soft_wrap=True)

    return listen


def _write(terminal: Console, event: Event) -> None:
    style = "yellow" if event.trouble else None
    terminal.print(escape(event.what), style=style, soft_wrap=True)


def _line(event: Progress) -> str:
    parts = [event.what]
    if event.of is not None and event.of > 1:
        parts.append(f"({event.done + 1} of {event.of})")
    elif event.of is None and event.done:
        parts.append(f"({event.done} trials done)")
    if event.left_s is not None:
        left_s = max(0, round(event.left_s))
        parts.append(f"{numbers.duration(left_s) if left_s else '0 s'} left")
    return "  ".join(parts)
