"""Files that the other side sends, reads and locks."""

from __future__ import annotations

import base64
import fcntl
import os
import shutil
import tarfile
import tempfile
import threading
from pathlib import Path

from .program import Fault


def cache_folder() -> str:
    """The folder of this user for what can be used again (XDG Base Directory)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return str((Path(base) if os.path.isabs(base) else Path.home() / ".cache") / "deadheat")  # noqa: PTH117


def free_bytes(path: str) -> int:
    """Free space for this user where a folder is, or will be."""
    place = Path(path)
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free


class Files:
    """Each method is a request; an error of the file system is a `Fault`."""

    def __init__(self) -> None:
        self.scratch: str | None = None
        self.locks: dict[str, int] = {}
        self.changing = threading.Lock()

    def scratch_folder(self) -> str:
        """A private folder, which `close` removes."""
        with self.changing:
            self.scratch = self.scratch or tempfile.mkdtemp(prefix="deadheat-")
            return self.scratch

    def read_file(self, path: str) -> str | None:
        try:
            return Path(path).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Fault(f"cannot read {path}: {error.strerror}", "make it readable") from error

    def append_file(self, path: str, chunk: str, is_first: bool) -> None:
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            with Path(path).open("wb" if is_first else "ab") as file:
                file.write(base64.b64decode(chunk))
        except OSError as error:
            Path(path).unlink() if Path(path).exists() else None
            raise fault_of(path, error) from error

    def finish_file(self, part: str, path: str, executable: bool) -> None:
        try:
            Path(part).chmod(0o755 if executable else 0o644)
            os.replace(part, path)  # noqa: PTH105 (as in 3.8)
        except OSError as error:
            raise fault_of(path, error) from error

    def unpack(self, archive: str, folder: str) -> None:
        """Unpack an archive of the other side into a new folder, and remove the archive."""
        shutil.rmtree(folder, ignore_errors=True)
        try:
            Path(folder).mkdir(parents=True)
            with tarfile.open(archive) as packed:
                packed.extractall(folder)
            Path(archive).unlink()
        except (OSError, tarfile.TarError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise fault_of(folder, error) from error

    def lock(self, path: str) -> str:
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            raise fault_of(path, error) from error
        with self.changing:
            self.locks[str(descriptor)] = descriptor
        return str(descriptor)

    def unlock(self, lock: str) -> None:
        with self.changing:
            os.close(self.locks.pop(lock))

    def close(self) -> None:
        if self.scratch:
            shutil.rmtree(self.scratch, ignore_errors=True)


def fault_of(path: str, error: Exception) -> Fault:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return Fault(f"cannot write {path}: {reason}", "free space there, or make it writable")
