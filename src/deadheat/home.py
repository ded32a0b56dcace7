"""The folder that holds the store, the builds and the logs, and how its files are replaced."""

import os
from pathlib import Path


def home() -> Path:
    """The folder of runs, builds and logs: DEADHEAT_HOME, or the XDG data folder."""
    if place := os.environ.get("DEADHEAT_HOME"):
        return Path(place).resolve()
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "deadheat"


def write_whole(path: Path, text: str) -> None:
    """Replace a file as a whole, so that a reader never sees half of one. Raises OSError."""
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
