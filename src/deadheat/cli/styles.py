"""A console that leaves out every style where NO_COLOR is set; rich alone keeps bold."""

import os

from rich.console import Console


def console(*, stderr: bool = False, width: int | None = None) -> Console:
    """For the terminal, or for `width` columns. Nothing in it is highlighted by a guess."""
    plain = bool(os.environ.get("NO_COLOR"))
    return Console(
        stderr=stderr, width=width, highlight=False, color_system=None if plain else "auto"
    )
