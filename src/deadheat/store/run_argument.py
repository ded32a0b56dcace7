"""How a printed command names a run."""

import shlex
from pathlib import Path

from deadheat.home import home


def short_id(run_id: str) -> str:
    """The last part of an id, which commands accept as RUN."""
    return run_id.rpartition("-")[2]


def run_argument(run_id: str, path: Path) -> str:
    """The end of the id, and --store unless `path` is the default store."""
    default = path.absolute() == (home() / "runs.sqlite").absolute()
    return short_id(run_id) + ("" if default else f" --store {shlex.quote(str(path))}")
