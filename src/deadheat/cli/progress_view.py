"""Progress on a terminal as one live line, elsewhere as plain lines."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

from deadheat.campaign.progress import Doing, Happened, Listener

REFRESH_PER_S = 1  # a live display costs CPU that the race wants


@contextmanager
def progress_view() -> Iterator[Listener]:
    """A listener that writes to standard error, so that standard output holds the table alone."""
    console = Console(stderr=True)
    if not sys.stderr.isatty():
        yield _plain_listener(console)
        return
    with console.status("preparing", refresh_per_second=REFRESH_PER_S) as status:

        def listen(event: Doing | Happened) -> None:
            if isinstance(event, Doing):
                status.update(escape(_line(event)))
            else:
                _write(console, event)

        yield listen


def _plain_listener(console: Console) -> Listener:
    told = ""

    def listen(event: Doing | Happened) -> None:
        nonlocal told
        if isinstance(event, Happened):
            _write(console, event)
        elif (stage := event.what.split(":")[0]) != told:
            told = stage
            console.print(escape(_line(event) if event.of else stage), soft_wrap=True)

    return listen


def _write(console: Console, event: Happened) -> None:
    style = "yellow" if event.trouble else None
    console.print(escape(event.what), style=style, soft_wrap=True)


def _line(event: Doing) -> str:
    parts = [event.what]
    if event.of is not None:
        parts.append(f"({event.done + 1} of {event.of})")
    elif event.done:
        parts.append(f"({event.done} trials done)")
    if event.left_s is not None:
        parts.append(f"{max(0, event.left_s):.0f} s left")
    return "  ".join(parts)
