"""Files of a far host: folders that are sent, small files that are read and written."""

import base64
import io
import tarfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from deadheat.host.base import HostError

CHUNK_BYTES = 1 << 16  # small, so that heartbeats pass between them on a slow link
LOCK_S = 3600.0  # another deadheat builds the same server meanwhile
UNPACK_S = 300.0


class FarFiles(ABC):
    """The part of a far host that has to do with files. Every method raises `HostError`."""

    target: str

    @abstractmethod
    def _ask(self, request: str, allowed_s: float = 0.0, /, **arguments: Any) -> Any:
        """The agent's answer, as `AgentHost` gets it."""

    def cache_folder(self) -> PurePosixPath:
        """The folder for what the next run can use again: `~/.cache/deadheat`."""
        return PurePosixPath(self._ask("cache_folder"))

    def scratch_folder(self) -> PurePosixPath:
        """A folder that ends with the agent."""
        return PurePosixPath(self._ask("scratch_folder"))

    def require_room(self, size_bytes: int) -> None:
        """Raises `HostError` if builds, or logs, have less free space than this."""
        for folder in (self.cache_folder(), self.scratch_folder()):
            if self._ask("free_bytes", path=str(folder)) < size_bytes:
                raise HostError(
                    f"{self.target}: {folder} has less than {size_bytes >> 20} MiB of free space",
                    "free space there, or choose another place with XDG_CACHE_HOME and TMPDIR "
                    "in ~/.bashrc there",
                )

    def read_file(self, path: PurePosixPath) -> str | None:
        """The text of a file; None without one."""
        text: str | None = self._ask("read_file", path=str(path))
        return text

    def write_file(self, path: PurePosixPath, text: str) -> None:
        """Write a file, whole or not at all."""
        self.send_file(path, text.encode())

    def send_file(self, path: PurePosixPath, content: bytes, executable: bool = False) -> None:
        """Send a file; it appears when it is complete."""
        part = f"{path}.part"
        for begin in range(0, max(len(content), 1), CHUNK_BYTES):
            chunk = base64.b64encode(content[begin : begin + CHUNK_BYTES]).decode()
            self._ask("append_file", path=part, chunk=chunk, is_first=begin == 0)
        self._ask("finish_file", part=part, path=str(path), executable=executable)

    def send_folder(self, source: Path, target: PurePosixPath, ignored: tuple[str, ...]) -> None:
        """Send a folder without the names in `ignored`; it replaces what is there."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            archive.add(
                source,
                arcname=".",
                filter=lambda entry: None if PurePosixPath(entry.name).name in ignored else entry,
            )
        self.send_archive(packed.getvalue(), target)

    def send_archive(self, archive: bytes, target: PurePosixPath) -> None:
        """Send a tar, compressed or not, and unpack it there; it replaces what is there."""
        archive_path = target.with_name(f"{target.name}.tar")
        self.send_file(archive_path, archive)
        self._ask("unpack", UNPACK_S, archive=str(archive_path), folder=str(target))

    @contextmanager
    def locked(self, path: PurePosixPath) -> Iterator[None]:
        """Hold a lock there: another deadheat that needs it waits."""
        name = self._ask("lock", LOCK_S, path=str(path))
        try:
            yield
        finally:
            self._ask("unlock", lock=name)
