"""Reads small files that others wrote: no device, no pipe, no more than a bound."""

import errno
import os
import stat
from pathlib import Path


def read_bytes(path: Path, bytes_max: int) -> bytes:
    """The content of a regular file.

    Raises `OSError`, also for another kind of file and for one that is too large.
    """
    _require_regular(path, path.stat())  # opening a device can have an effect
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        _require_regular(path, os.fstat(descriptor))
        content = file.read(bytes_max + 1)
    if len(content) > bytes_max:
        reason = f"it is larger than {bytes_max // 1024} KiB"
        raise OSError(errno.EFBIG, reason, str(path))
    return content


def _require_regular(path: Path, state: os.stat_result) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL, "expected a regular file", str(path))
