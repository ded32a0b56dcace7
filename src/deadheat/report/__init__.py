"""Reports of a stored run, in several formats."""

from collections.abc import Callable, Mapping

from deadheat.console import console as make_console
from deadheat.report.findings.analysis import Analysis, analyze
from deadheat.report.formats import csv_table, json_document, markdown, page, terminal
from deadheat.report.formats.encoding import fit
from deadheat.report.model.load import load_view
from deadheat.report.model.view import RunView

__all__ = ["FORMATS", "WHOLE", "RunView", "load_view", "write"]


def _terminal(view: RunView, analysis: Analysis) -> str:
    """The report at standard output's width and encoding, with colors only on a terminal."""
    console = make_console()
    with console.capture() as capture:
        terminal.show(console, view, analysis)
    text = "\n".join(line.rstrip() for line in capture.get().split("\n"))
    return fit(text, console.encoding)


_WRITERS: Mapping[str, Callable[[RunView, Analysis], str]] = {
    "terminal": _terminal,
    "md": markdown.write,
    "json": json_document.write,
    "csv": csv_table.write,
    "html": page.write,
}
FORMATS = tuple(_WRITERS)
WHOLE = ("json", "html")  # these need a view that `load_view` read as a whole


def write(view: RunView, format: str) -> str:
    """The report of a run in one of `FORMATS`, ending with a newline."""
    return _WRITERS[format](view, analyze(view))
