"""Shows progress: a live table and line on a terminal, plain lines elsewhere."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from deadheat import numbers
from deadheat.console import console
from deadheat.events import Board, BoardRow, Event, Listener, Progress
from deadheat.foreign_text import one_line

REFRESH_PER_S = 1  # a live display takes CPU time from the race
BAR_CELLS = 18
NAME_MAX = 40


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


def board_view(board: Board, height: int) -> Iterator[RenderableType]:
    """The table, cut to `height` lines in all, then the line below it."""
    alone = len(board.rows) == 1
    shown = board.rows[: max(height - 4, 1)]
    yield _table(board, shown, alone)
    if len(shown) < len(board.rows):
        yield Text(f"and {len(board.rows) - len(shown)} more", style="dim")
    yield Text(status(board), style="yellow" if board.disturbed else "dim")


def status(board: Board) -> str:
    """`3 of 7 pairs decided, 1 min 20 s of 5 min, the machine is quiet`."""
    parts = []
    if board.pairs and board.decided is not None:
        parts.append(f"{board.decided} of {numbers.count(board.pairs, 'pair')} decided")
    elif board.pairs:
        parts.append(f"no look yet at {numbers.count(board.pairs, 'pair')}")
    elapsed = numbers.duration(round(board.elapsed_s))
    most = (
        f" of at most {numbers.duration(board.budget_s)}" if math.isfinite(board.budget_s) else ""
    )
    parts.append(elapsed + most)
    if board.disturbed:
        checks = numbers.listing(list(board.disturbed))
        parts.append(f"the machine is not quiet: the last block failed {checks}")
    else:
        parts.append("the machine is quiet")
    return ", ".join(parts)


def _table(board: Board, rows: tuple[BoardRow, ...], alone: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="")
    best_per_s = max((row.rate_per_s or 0.0 for row in board.rows), default=0.0)
    per_s = f"req/s on {one_line(board.workload, NAME_MAX)}" if board.workload else "req/s"
    headers = ["server", per_s, "starts"]
    if not alone:
        headers = ["rank", "server", per_s, "% of fastest", "starts", "place"]
    for header in headers:
        right = header in (per_s, "starts")
        table.add_column(Text(header), justify="right" if right else "left", no_wrap=True)
    for row in rows:
        name, rate = one_line(row.name, NAME_MAX), numbers.rate(row.rate_per_s)
        cells = [name, rate, f"{row.instances}"]
        if not alone:
            place = "open" if row.open else "decided"
            cells = [_rank(row), name, rate, _bar(row, best_per_s), f"{row.instances}", place]
        table.add_row(*map(Text, cells))
    return table


def _rank(row: BoardRow) -> str:
    return row.rank.replace("-", "–") if row.rank else numbers.NONE


def _bar(row: BoardRow, best_per_s: float) -> str:
    if not row.rate_per_s or not best_per_s:
        return numbers.NONE
    share = row.rate_per_s / best_per_s
    return f"{'█' * round(share * BAR_CELLS):<{BAR_CELLS}} {100 * share:3.0f}"
