"""What commands that only read have in common: the store they read, the file they write."""

from pathlib import Path

from deadheat.errors import DeadheatError
from deadheat.store import Store, StoreError

MEASURE = "measure something with deadheat run, or name another store with --store FILE"


def stored(path: Path, first: str = MEASURE) -> Store:
    """The store, to read from.

    Raises `StoreError` where there is none that can be read; `first` is what has to be done first.
    """
    if not path.exists():
        raise StoreError(f"there is no store {path} yet", first)
    if path.is_file() and path.stat().st_size == 0:
        raise StoreError(f"{path} is empty: no run was ever stored in it", first)
    return Store(path, read_only=True)


def write_output(path: Path, written: str | bytes, source: Path) -> None:
    """Write a file that --output names; text goes as UTF-8.

    Raises `DeadheatError` where it cannot be written, or is the file that was read.
    """
    require_another(path, source)
    try:
        path.write_bytes(written.encode() if isinstance(written, str) else written)
    except OSError as error:
        raise DeadheatError(f"--output {path}: {error.strerror}", "name another file") from error


def require_another(output: Path, source: Path) -> None:
    """Raises `DeadheatError` where --output would replace what is read, or will be once it is."""
    if output.resolve() == source.resolve():
        raise DeadheatError(
            f"--output {output}: this is where the runs are, and they would be lost",
            "name another file",
        )
