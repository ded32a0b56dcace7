"""Reads files of /proc, /sys and the cgroup file system."""

from __future__ import annotations

import errno
import select
import time
from pathlib import Path

KERNEL_DEADLINE_S = 20.0  # for the kernel to kill, to freeze, or to empty a cgroup
CPU_DEVICES = Path("/sys/devices/system/cpu")


def read_text(path: str | Path) -> str | None:
    """The stripped text of a kernel file, or None if it is missing or cannot be read."""
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return None


def read_number(path: str | Path) -> int | None:
    text = read_text(path)
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


def keyed(text: str | None) -> dict[str, int]:
    """The numbers in lines of `key number`, with or without a colon, by key."""
    pairs = (line.replace(":", " ").split() for line in (text or "").splitlines())
    return {p[0]: int(p[1]) for p in pairs if len(p) > 1 and p[1].isdigit()}


def numbered(folder: Path) -> list[int]:
    """The entries of a folder of /proc that are numbers: processes or threads."""
    return [int(path.name) for path in folder.iterdir() if path.name.isdigit()]


def wait_for_key(path: str, key: str, value: int, deadline_s: float) -> bool:
    """Wait until a kernel file has `key value` (kernfs wakes poll(2) on a change)."""
    end_s = time.monotonic() + deadline_s
    try:
        with Path(path).open() as file:
            poll = select.poll()
            poll.register(file, select.POLLPRI)
            while True:
                file.seek(0)
                if keyed(file.read()).get(key) == value:
                    return True
                left_s = end_s - time.monotonic()
                if left_s <= 0:
                    return False
                poll.poll(left_s * 1000)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENODEV):
            return True  # the cgroup is gone, so it is empty and no process runs in it
        raise
