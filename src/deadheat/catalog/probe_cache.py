"""Keeps the outcomes of probes for a while, so that `deadheat list` answers quickly.

A tool that was just installed is found at the next call: a failure is kept only while nothing was
installed, as far as folders and files show. Builds and runs do not use the cache.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

KEPT_S = 3600.0
FAILURE_KEPT_S = 600.0
PACKAGE_DATABASES = ("/var/lib/dpkg/status", "/var/lib/rpm", "/lib/apk/db/installed")

Entry = tuple[float, str | None, str]  # when, the output or None for a failure, the state


class ProbeCache:
    """Outcomes by command, program and search path, in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._now_s = time.time()
        self._entries = _read(path, self._now_s)
        self._changed = False

    def get(self, command: tuple[str, ...]) -> str | None:
        """What the command printed, unless that is too old or its program has changed."""
        entry = self._entry(command)
        return entry[1] if entry is not None else None

    def failed(self, command: tuple[str, ...]) -> bool:
        """Whether the program does not exist, or failed lately and nothing was installed since."""
        if _key(command) is None:
            return True
        entry = self._entry(command)
        return entry is not None and entry[1] is None and entry[2] == self._state

    def put(self, command: tuple[str, ...], output: str | None) -> None:
        """Keep what the command printed; None for a failure."""
        key = _key(command)
        if key is not None:
            self._entries[key] = (self._now_s, output, "" if output is not None else self._state)
            self._changed = True

    def drop(self, command: tuple[str, ...]) -> None:
        """Forget an outcome."""
        if (key := _key(command)) in self._entries:
            del self._entries[str(key)]
            self._changed = True

    def save(self) -> None:
        """Write the file. A folder that cannot be written only costs time at the next call."""
        if not self._changed:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = self._path.with_suffix(f".{os.getpid()}.part")
            unfinished.write_text(json.dumps(self._entries), encoding="utf-8")
            unfinished.replace(self._path)
        except OSError:
            return

    def _entry(self, command: tuple[str, ...]) -> Entry | None:
        key = _key(command)
        return self._entries.get(key) if key is not None else None

    @cached_property
    def _state(self) -> str:
        """What an installation changes: folders of programs, package databases, ~/.rustup etc."""
        return json.dumps([(str(place), _changed_ns(place)) for place in _places()])


def _places() -> Iterator[Path]:
    yield from (Path(folder) for folder in os.get_exec_path() if folder)
    yield from map(Path, PACKAGE_DATABASES)
    home = Path.home()
    for pattern in (".*", "quicklisp"):
        yield from (path for path in sorted(home.glob(pattern)) if path.is_dir())


def _changed_ns(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def _read(path: Path, now_s: float) -> dict[str, Entry]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        entries = {
            str(key): (float(at_s), None if output is None else str(output), str(state))
            for key, (at_s, output, state) in rows.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
    return {
        key: entry
        for key, entry in entries.items()
        if 0 <= now_s - entry[0] < (KEPT_S if entry[1] is not None else FAILURE_KEPT_S)
    }


def _key(command: tuple[str, ...]) -> str | None:
    """None for a program that does not exist."""
    program = shutil.which(command[0])
    if program is None:
        return None
    status = Path(program).resolve().stat()
    search = (os.environ.get("PATH"), os.environ.get("JAVA_HOME"))
    return json.dumps([command, program, status.st_mtime_ns, status.st_size, search])
