"""The console of all commands: it prints foreign text without escape sequences, in any encoding."""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from deadheat.foreign_text import printable

PLAIN = str.maketrans(
    {"╭": "/", "│": "|", "╰": "\\", "─": "-", "–": "-", "…": "...", "µ": "u", "∞": "inf"}
    | {"█": "#", "▒": ":", "░": ".", "├": "|", "┤": "|"}
)


class _PlainTextConsole(Console):
    """A console that escapes hidden characters in all that it renders. Its own styles remain."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control is None and not segment.text.isprintable():
                yield Segment(printable(segment.text), segment.style)
            else:
                yield segment

    def on_broken_pipe(self) -> None:
        """Rich would exit with 1; the entry point has the exit code."""
        raise


class _Unfailing:
    """A stream whose errors are ignored: what it shows changes no result."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def console(*, stderr: bool = False, width: int | None = None, styled: bool = True) -> Console:
    """A console for the terminal, or for `width` columns, without automatic highlighting.

    It prints no style if NO_COLOR is set or not `styled`; rich alone keeps bold with NO_COLOR.
    """
    return _PlainTextConsole(
        stderr=stderr,
        file=cast("IO[str]", _Unfailing(sys.stderr)) if stderr else None,
        width=width,
        highlight=False,
        color_system="auto" if styled and not os.environ.get("NO_COLOR") else None,
        force_terminal=None if styled else False,
    )


def fit(text: str, encoding: str) -> str:
    """The same text if `encoding` has all its characters; else with plain signs, or escaped."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return text
