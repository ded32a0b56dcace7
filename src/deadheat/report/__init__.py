"""Reports of a stored run, in several formats.

The formats and the analysis are imported when they are used: `deadheat list` needs neither.
"""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deadheat.report.model.load import load_view
    from deadheat.report.model.view import RunView

__all__ = ["FORMATS", "WHOLE", "RunView", "load_view", "write"]

_WRITERS = {
    "terminal": "terminal",
    "md": "markdown",
    "json": "json_document",
    "csv": "csv_table",
    "html": "page",
}
FORMATS = tuple(_WRITERS)
WHOLE = ("json", "html")  # these need a view that `load_view` read as a whole
_PARTS = {"load_view": "deadheat.report.model.load", "RunView": "deadheat.report.model.view"}


def write(
    view: "RunView", format_name: str, source: str | None = None, *, verbose: bool = False
) -> str:
    """The report of a run in one of `FORMATS`, ending with a newline.

    `source` names the run in the commands that a report shows, such as `--from FILE`; without it
    that is the run's id. `verbose` adds the details on a terminal; the other formats always have
    them.
    """
    writer = importlib.import_module(f"deadheat.report.formats.{_WRITERS[format_name]}")
    written: Callable[..., str] = writer.write
    options = {"csv": {}, "terminal": {"source": source, "verbose": verbose}}
    return written(view, **options.get(format_name, {"source": source}))


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return getattr(importlib.import_module(_PARTS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
