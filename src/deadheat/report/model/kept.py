"""`Kept`: what a report works out from all trials of a large run, kept for its next report.

The store has the trials and nothing that is derived from them. What is kept here is in a separate
file, which may be deleted at any time. An entry is found by the SHA-256 of all that it was made
from, so it never stands for other trials, and an entry that was changed does not match its own
SHA-256. Another version of the code makes everything anew. Bundles bring no such file.
"""

import contextlib
import hashlib
import json
from array import array
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path

from deadheat.home import home, write_whole
from deadheat.inflate import parse
from deadheat.store import StoredRun

TRIALS_MIN = 2_000  # a smaller run is quick to read
CHANGING = ("running", "unended")
CODE = ("inflate.py", "stats/**/*.py", "report/model/*.py", "store/slices.py")


class Kept:
    """Texts by key, in one file. Without a path it keeps nothing."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._code = code_digest() if path is not None else ""
        self._entries = _read(path, self._code) if path is not None else {}
        self._changed = False

    @classmethod
    def of(cls, run: StoredRun) -> "Kept":
        """That of a run which is over and has many trials; else one that keeps nothing."""
        if run.state in CHANGING or len(run.trials) < TRIALS_MIN:
            return cls()
        return cls(kept_path(run.id))

    @property
    def keeps(self) -> bool:
        return self._path is not None

    def get(self, key: str) -> str | None:
        """None for an unknown key, and for an entry that was changed."""
        entry = self._entries.get(key)
        if not isinstance(entry, list) or len(entry) != 2 or not isinstance(entry[1], str):
            return None
        seal, text = entry
        return text if seal == digest([key, text]) else None

    def put(self, key: str, text: str) -> None:
        if self.keeps:
            self._entries[key] = [digest([key, text]), text]
            self._changed = True

    def save(self) -> None:
        """Write the file. A folder that cannot be written only costs time at the next report."""
        if self._path is None or not self._changed:
            return
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, json.dumps({"code": self._code, "entries": self._entries}))


def kept_path(run_id: str) -> Path:
    """The file of a run; the id of a foreign one may be any text."""
    return home() / "kept" / f"{digest([run_id])[:32]}.json"


def digest(parts: Iterable[str | bytes]) -> str:
    """The SHA-256 of the number of parts, their lengths, and the parts."""
    every = [
        part.encode(errors="surrogatepass") if isinstance(part, str) else part for part in parts
    ]
    total = hashlib.sha256(array("Q", [len(every), *map(len, every)]))
    total.update(b"".join(every))
    return total.hexdigest()


@cache
def code_digest() -> str:
    """Of the code that makes what is kept, and NumPy's version."""
    package = Path(__file__).parents[2]
    sources = sorted(path for pattern in CODE for path in package.glob(pattern))
    return digest([version("numpy"), *(path.read_bytes() for path in sources)])


def _read(path: Path, code: str) -> dict[str, object]:
    try:
        values = parse(path.read_bytes())
        entries = values["entries"] if values["code"] == code else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
    return entries if isinstance(entries, dict) else {}
