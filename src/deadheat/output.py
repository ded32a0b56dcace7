"""Prints the lines of all commands, without escape sequences of others.

`tests/test_foreign_text.py` rejects other ways to print.
"""

import json
import os
import sys
from contextlib import nullcontext, suppress
from typing import Any

import click

from deadheat.foreign_text import printable


def open_closed_outputs() -> None:
    """Let closed standard streams lead to nowhere.

    Otherwise the next file that is opened gets their number, and what is printed goes into it.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(nowhere := os.open(os.devnull, os.O_RDWR), number)
            if nowhere != number:
                os.close(nowhere)
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def echo(text: object = "", *, err: bool = False, newline: bool = True, **style: Any) -> None:
    """Print a text; `style` are the options of `click.style` for all of it."""
    # A standard error that is full or broken has no place for an error, and changes no result.
    with suppress(OSError) if err else nullcontext():
        click.secho(printable(str(text)), err=err, nl=newline, color=color(), **style)


def print_error(message: str, hint: str | None) -> None:
    """Print an error to standard error: the symptom with its cause, then what the user can do."""
    echo("error: ", fg="red", bold=True, newline=False, err=True)
    echo(message, err=True)
    if hint:
        echo("  hint: ", fg="cyan", newline=False, err=True)
        echo(hint, err=True)


def echo_json(document: object) -> None:
    """Print a document as JSON, in ASCII without control characters."""
    click.echo(json.dumps(document, indent=2).replace("\x7f", "\\u007f"))


def echo_rendered(content: str | bytes) -> None:
    """Print a whole report, picture or page. Its writer has escaped the text in it."""
    click.echo(content, nl=False)


def color() -> bool | None:
    """False if NO_COLOR is set: no color and no bold. Else None: the terminal decides."""
    return False if os.environ.get("NO_COLOR") else None
