"""The store that commands open, what it says of a run, and the file that --output writes."""

import sys
from pathlib import Path

from deadheat.errors import DeadheatError, StoreError
from deadheat.output import echo
from deadheat.store import Store
from deadheat.store.listing import runs_under_way

MEASURE = "measure with deadheat run, or choose another store with --store FILE"


def command_line() -> list[str]:
    """This call of deadheat, as runs and reports quote it."""
    return ["deadheat", *sys.argv[1:]]


def stored(path: Path, hint: str = MEASURE) -> Store:
    """Open the store read-only.

    Raises `StoreError` with `hint` if the store is missing or empty.
    """
    if not path.exists():
        raise StoreError(f"the store {path} does not exist", hint)
    if path.is_file() and path.stat().st_size == 0:
        raise StoreError(f"{path} is empty: no run is stored in it", hint)
    return Store(path, read_only=True)


def write_output(path: Path, written: str | bytes, source: Path) -> None:
    """Write the file of --output, text as UTF-8.

    Raises `DeadheatError` if the file cannot be written, or is `source`.
    """
    require_another(path, source)
    try:
        path.write_bytes(written.encode() if isinstance(written, str) else written)
    except OSError as error:
        raise DeadheatError(f"--output {path}: {error.strerror}", "choose another file") from error


def require_another(output: Path, source: Path) -> None:
    """Raises `DeadheatError` if --output would replace `source`, the store or bundle."""
    if output.resolve() == source.resolve():
        raise DeadheatError(
            f"--output {output}: this file holds the runs, and writing it would delete them",
            "choose another file",
        )


def warn_of_running_runs(store: Store) -> None:
    """Warn about each run of this store in progress: two runs disturb each other."""
    for run_id in runs_under_way(store):
        warning = f"run {run_id} is in progress: two runs disturb each other; stop one"
        echo(warning, fg="yellow", err=True)
