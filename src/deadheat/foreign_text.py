"""Text from others, made safe to show: no escape sequence, no hidden or reordering character.

Servers, manifests and bundles supply text. All of it goes through this module before it reaches a
terminal, a CSV file or a Markdown file.
"""

import unicodedata

# Unicode categories: control, format (direction, zero width), surrogate, private use, line and
# paragraph separator.
HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
KEPT = "\n\t"
LINE_MAX = 300
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def escaped(text: str, kept: str = "") -> str:
    """The text with each hidden character as Python's escape for it, except those in `kept`."""
    if text.isprintable():
        return text
    return "".join(
        char if char in kept or unicodedata.category(char) not in HIDDEN else repr(char)[1:-1]
        for char in text
    )


def printable(text: str) -> str:
    """The text with its line breaks and tabs, and every other hidden character escaped."""
    return escaped(text, KEPT)


def spreadsheet_cell(text: str) -> str:
    """A text as a cell of CSV: with an apostrophe where a spreadsheet would read a formula."""
    shown = printable(text)
    return f"'{shown}" if shown.lstrip(" \n").startswith(FORMULA_SIGNS) else shown


def one_line(text: str, longest: int = LINE_MAX) -> str:
    """The text on one line, with hidden characters escaped, cut if it is long."""
    words = " ".join(text.split())
    shown = escaped(words[:longest])
    return f"{shown}…" if len(words) > longest else shown
