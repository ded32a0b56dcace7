"""The console of all commands. It prints no style if NO_COLOR is set; rich alone keeps bold."""

import os

from rich.console import Console


def console(*, stderr: bool = False, width: int | None = None) -> Console:
    """A console for the terminal, or for `width` columns, without automatic highlighting."""
    plain = bool(os.environ.get("NO_COLOR"))
    return Console(
        stderr=stderr, width=width, highlight=False, color_system=None if plain else "auto"
    )
