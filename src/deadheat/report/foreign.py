"""Reports of runs that others stored: a fault in their data is an error, not a traceback."""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deadheat.errors import DeadheatError
from deadheat.store import StoreError

FAULTS = (
    *(ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError),
    *(TypeError, ValueError, zlib.error, sqlite3.Error),
)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Read and report the runs of a file. Raises `StoreError` if its data do not make sense."""
    try:
        yield
    except DeadheatError:
        raise
    except FAULTS as error:
        raise StoreError(
            f"{path} cannot be reported: {type(error).__name__}: {error}",
            "its data are damaged or from another version of deadheat; export the run again",
        ) from error
