"""Keeps what probes printed for a while, so that `deadheat list` answers quickly.

Only what succeeded is kept: a tool that was just installed is found at the next call. Builds and
runs do not use it.
"""

import json
import os
import shutil
import time
from pathlib import Path

KEPT_S = 3600.0


class ProbeCache:
    """Outputs by command, program and search path, in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._now_s = time.time()
        self._outputs = _read(path, self._now_s)
        self._changed = False

    def get(self, command: tuple[str, ...]) -> str | None:
        """What the command printed, unless that is too old or its program has changed."""
        key = _key(command)
        entry = self._outputs.get(key) if key is not None else None
        return entry[1] if entry is not None else None

    def put(self, command: tuple[str, ...], output: str) -> None:
        key = _key(command)
        if key is not None:
            self._outputs[key] = (self._now_s, output)
            self._changed = True

    def save(self) -> None:
        """Write the file. A folder that cannot be written only costs time at the next call."""
        if not self._changed:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = self._path.with_suffix(f".{os.getpid()}.part")
            unfinished.write_text(json.dumps(self._outputs), encoding="utf-8")
            unfinished.replace(self._path)
        except OSError:
            return


def _read(path: Path, now_s: float) -> dict[str, tuple[float, str]]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {
            str(key): (float(at_s), str(output))
            for key, (at_s, output) in rows.items()
            if 0 <= now_s - at_s < KEPT_S
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _key(command: tuple[str, ...]) -> str | None:
    """None for a program that does not exist."""
    program = shutil.which(command[0])
    if program is None:
        return None
    status = Path(program).resolve().stat()
    search = (os.environ.get("PATH"), os.environ.get("JAVA_HOME"))
    return json.dumps([command, program, status.st_mtime_ns, status.st_size, search])
