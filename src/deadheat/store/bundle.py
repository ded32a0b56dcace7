"""Bundles: one run with all its raw data in one file, which is a compressed store.

A bundle can be read in place or imported into another store. It may come from anyone, so it is
checked first: its schema must match ours exactly, its pages and references must be sound, and the
store must not have its runs already.
"""

import datetime
import lzma
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from deadheat.errors import StoreError
from deadheat.store.json_columns import ImportedFrom
from deadheat.store.listing import run_ids
from deadheat.store.schema import has_our_content, is_store
from deadheat.store.store import Store

SIZE_BYTES_MAX = 4 * 1024**3
CHUNK_BYTES = 1 << 20
MAGIC = b"SQLite format 3\0"
HEAD_BYTES = 100
ZEROS_BYTES_MAX = 64 << 20
XZ_PRESET = 0  # histograms and series are packed already: more effort saves little
RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")


def export_run(store: Store, run_id: str, path: Path) -> None:
    """Write the run to a bundle. Raises `StoreError` if the file cannot be written."""
    if path.exists() and not path.is_file():  # a device would become a file
        raise StoreError(
            f"the bundle {path} cannot be written: expected a regular file", "name another file"
        )
    try:
        with tempfile.TemporaryDirectory(dir=path.absolute().parent) as folder:
            plain, packed = Path(folder) / "run.sqlite", Path(folder) / "run.xz"
            with Store(plain) as single:
                single.take(store, run_id)
                single.settle()
            with plain.open("rb") as source, lzma.open(packed, "wb", preset=XZ_PRESET) as target:
                shutil.copyfileobj(source, target, CHUNK_BYTES)
            packed.replace(path)
    except (OSError, StoreError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(cause, OSError | sqlite3.Error):  # the run cannot be read
            raise
        reason = cause.strerror if isinstance(cause, OSError) else cause
        raise StoreError(
            f"the bundle {path} cannot be written: {reason}",
            "free disk space, or name another file",
        ) from error


@contextmanager
def open_bundle(path: Path) -> Iterator[Store]:
    """The bundle as a read-only store. Raises `StoreError` if it is not a sound bundle."""
    with tempfile.TemporaryDirectory(prefix="deadheat-") as folder:
        plain = Path(folder) / "bundle.sqlite"
        try:
            with lzma.open(path) as source, plain.open("wb") as target:
                _copy(source, target)
            _check(plain)
        except (OSError, EOFError, lzma.LZMAError, sqlite3.Error, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise StoreError(
                f"{path} is not a readable bundle: {reason}", "make one: deadheat export RUN"
            ) from error
        with closing(Store(plain, read_only=True)) as store:
            yield store


def import_runs(store: Store, bundle: Store, name: str) -> list[str]:
    """Copy every run of a bundle into `store`, marked as imported; returns their ids.

    Raises `StoreError` if one of them is there already; then none is copied.
    """
    ids = run_ids(bundle)[::-1]
    for run_id in sorted({*ids} & {*run_ids(store)}):
        raise StoreError(
            f"the store {store.path} has a run {run_id} already",
            "there is nothing to import, or name another store with --store FILE",
        )
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    for run_id in ids:
        store.take(bundle, run_id, ImportedFrom(at=at, bundle=name))
    return ids


def _copy(source: lzma.LZMAFile, target: BinaryIO) -> None:
    """Unpack a bundle. Its first page says how long it is, so padding is not unpacked.

    SQLite writes the page size and the number of pages to bytes 16 and 28 (fileformat2).
    """
    head = source.read(HEAD_BYTES)
    if len(head) < HEAD_BYTES or not head.startswith(MAGIC):
        raise ValueError("it is no compressed store")
    page_bytes = int.from_bytes(head[16:18], "big")
    page_bytes = 65536 if page_bytes == 1 else page_bytes
    size_bytes = page_bytes * int.from_bytes(head[28:32], "big")
    if size_bytes > SIZE_BYTES_MAX:
        raise ValueError(f"it unpacks to more than {SIZE_BYTES_MAX // 1024**3} GiB")
    target.write(head)
    left_bytes = size_bytes - len(head)
    filled_bytes = len(head)  # without runs of zeros, which pack into nothing
    while chunk := source.read(CHUNK_BYTES):
        left_bytes -= len(chunk)
        if left_bytes < 0:
            raise ValueError(f"it unpacks to more than the {size_bytes:,} bytes that it announces")
        filled_bytes += CHUNK_BYTES if chunk.strip(b"\0") else 0
        if target.tell() > ZEROS_BYTES_MAX + 16 * filled_bytes:
            raise ValueError("nearly all of it is zeros")
        target.write(chunk)
    if left_bytes:
        raise ValueError(f"it is {left_bytes:,} bytes shorter than it announces")


def _check(plain: Path) -> None:
    """Check a copy of a bundle.

    A view or a trigger would run foreign SQL at each read, so only our tables and indexes may be
    there. Raises `ValueError` or `sqlite3.Error` if the check fails.
    """
    with closing(sqlite3.connect(plain)) as connection:
        if not is_store(connection):
            raise ValueError("it is empty")
        if not has_our_content(connection):
            raise ValueError("its tables are not those of a store")
        (fault,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if fault != "ok":
            raise ValueError(fault)
        if broken := connection.execute("PRAGMA foreign_key_check").fetchone():
            raise ValueError(f"a row of table {broken[0]} refers to a missing row")
        ids = [run_id for (run_id,) in connection.execute("SELECT id FROM run")]
        if not ids:
            raise ValueError("it has no run")
        for run_id in ids:  # an id becomes the name of a file, and is printed
            if not RUN_ID.fullmatch(run_id):
                raise ValueError(f"the run id {run_id[:40]!r} is not one of deadheat's")
