"""One file for each format of a board; `read` finds out which one a file has."""

from deadheat.boards.adapters.read import read_boards

__all__ = ["read_boards"]
