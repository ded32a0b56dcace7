"""The files of a server's folder: what a build hashes and copies."""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from deadheat.catalog.toml_lines import FileFault

IGNORED = ("node_modules", "target", "__pycache__", ".venv")
FILES_MAX = 20_000
BYTES_MAX = 1 << 30


def check_folder(folder: Path) -> None:
    """Raises `FileFault` for a folder that cannot be copied as it is.

    A link has to lead to a place within the folder. Pipes, sockets and devices are rejected, and
    so is a folder with too many files or bytes.
    """
    size_bytes = 0
    for number, path in enumerate(_files(folder), start=1):
        state = path.lstat()
        size_bytes += state.st_size
        if stat.S_ISLNK(state.st_mode):
            if not _leads_within(path, folder):
                raise FileFault(
                    f"{path}: the link leads out of the server's folder",
                    "put a copy of the file into the folder",
                )
        elif not stat.S_ISREG(state.st_mode):
            raise FileFault(f"{path}: expected a file, a folder or a link", "remove it")
        if number > FILES_MAX or size_bytes > BYTES_MAX:
            raise FileFault(
                f"{folder}: the folder has more than {FILES_MAX:,} files or {BYTES_MAX >> 30} GiB",
                f"put generated files into one of {', '.join(IGNORED)}: builds leave them out",
            )


def hash_files(folder: Path) -> dict[str, str]:
    """File -> SHA-256 of its content, or of its target if it is a link."""
    return {str(path.relative_to(folder)): _digest(path) for path in sorted(_files(folder))}


def copy_folder(source: Path, target: Path) -> None:
    """Copy a checked folder to a new one. Links stay links. Raises `OSError`."""
    shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(*IGNORED))


def _files(folder: Path) -> Iterator[Path]:
    """Everything below the folder that is not a folder; a link to a folder is a link."""
    for parent, folders, files in os.walk(folder):
        links = [name for name in folders if Path(parent, name).is_symlink()]
        folders[:] = [name for name in folders if name not in IGNORED and name not in links]
        yield from (Path(parent, name) for name in (*links, *files) if name not in IGNORED)


def _leads_within(link: Path, folder: Path) -> bool:
    if link.readlink().is_absolute():  # the copy would lead to the original
        return False
    try:
        return link.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a loop
        return False


def _digest(path: Path) -> str:
    if path.is_symlink():
        return hashlib.sha256(f"link to {path.readlink()}".encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
