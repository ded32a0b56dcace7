"""The folder that holds the store, the builds and the logs."""

import os
from pathlib import Path


def home() -> Path:
    """The folder of runs, builds and logs: DEADHEAT_HOME, or the XDG data folder."""
    if place := os.environ.get("DEADHEAT_HOME"):
        return Path(place).resolve()
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "deadheat"
