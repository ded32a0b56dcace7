"""The folders that deadheat writes: room for a run, and what can be made again, logs and builds."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deadheat.errors import DeadheatError, StoreError

KINDS = {".log", ".json", ".lock", ".part", ".done", ".tar"}  # beside the folder of a build
DISK_FREE_BYTES_MIN = 200 * 1024**2
OTHER_PLACE = "free space there, or choose another place with DEADHEAT_HOME or --store FILE"


def make_room(*places: Path) -> None:
    """Make the folders. Raises `StoreError` if one cannot be written or has no space for a run."""
    for place in places:
        try:
            place.mkdir(parents=True, exist_ok=True)
            free_bytes = shutil.disk_usage(place).free
        except OSError as error:
            raise StoreError(
                f"{place} cannot be created: {error.filename}: {error.strerror}", OTHER_PLACE
            ) from error
        if not os.access(place, os.W_OK):
            raise StoreError(f"{place} cannot be written", OTHER_PLACE)
        if free_bytes < DISK_FREE_BYTES_MIN:
            raise StoreError(
                f"{place} has less than {DISK_FREE_BYTES_MIN // 1024**2} MiB of free space",
                OTHER_PLACE,
            )


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What to delete of one kind, with the space that it takes on the disk."""

    what: str  # logs, builds
    number: int
    paths: tuple[Path, ...]
    size_bytes: int

    def delete(self) -> None:
        """Delete them. Follows no link; raises `OSError` for what cannot be deleted."""
        for path in self.paths:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def logs_in(folder: Path) -> Leftovers:
    """The log files of servers and load processes."""
    paths = sorted(folder.glob("*.log"))
    return Leftovers("logs", len(paths), tuple(paths), sum(map(disk_bytes, paths)))


def builds_in(builds: Path, revisions: Path) -> Leftovers:
    """The builds of servers, and the builds of revisions that `regress` made.

    The record of a build comes before its folder, so what is left of a build that is half deleted
    does not pass for a finished one.
    """
    parents = [*sorted(builds.glob("*")), revisions]
    paths = [
        path
        for parent in parents
        if parent.is_dir() and not parent.is_symlink()
        for path in sorted(parent.iterdir(), key=lambda path: (path.suffix not in KINDS, path))
    ]
    number = sum(path.is_dir() for path in paths)
    return Leftovers("builds", number, tuple(paths), sum(map(disk_bytes, paths)))


def disk_bytes(path: Path) -> int:
    """The space that a file or a folder takes, without what links in it point to."""
    try:
        whole = 512 * path.lstat().st_blocks
        if path.is_dir() and not path.is_symlink():
            whole += sum(disk_bytes(entry) for entry in path.iterdir())
    except FileNotFoundError:
        return 0
    return whole


@contextmanager
def in_use(folder: Path) -> Iterator[None]:
    """Mark the logs and builds as in use, so that `alone_with` fails until the block ends."""
    with flocked(folder, fcntl.LOCK_SH):
        yield


@contextmanager
def alone_with(folder: Path, used: str | None = None) -> Iterator[None]:
    """Raises `DeadheatError` if another process uses the folder, within `in_use` or here.

    `used` says what it uses; None: the logs and builds.
    """
    try:
        with flocked(folder, fcntl.LOCK_EX | fcntl.LOCK_NB):
            yield
    except BlockingIOError as error:
        raise DeadheatError(
            f"another deadheat process uses {used or f'the logs and builds beside {folder}'}",
            "try again when it has ended",
        ) from error


@contextmanager
def flocked(folder: Path, operation: int) -> Iterator[None]:
    """Hold a lock of flock(2) on the folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, operation)
        yield
    finally:
        os.close(descriptor)
