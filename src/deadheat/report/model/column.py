"""`Column`: one column of a table, as text."""

from dataclasses import dataclass

NAME_MAX = 30  # characters of a name in a table


@dataclass(frozen=True, slots=True)
class Column:
    """One column. A header's second line, after a newline, is its unit or its level.

    Columns of one `group` stay together if a table is split.
    """

    header: str
    cells: tuple[str, ...]
    right: bool = True
    group: str = "order"
