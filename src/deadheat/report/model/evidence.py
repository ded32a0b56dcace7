"""What stands behind a contender's figures: its build, its source, what the tool printed."""

import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deadheat.store import Store

OUTPUT_MAX = 6_000
LOG_MAX = 3_000
PACKED = re.compile(r"[A-Za-z0-9+/=_-]{160,}")  # histograms in base64: the curves show them

OUTPUT = "SELECT invocation, block, connections, command, stdout, stderr FROM trial WHERE id = ?"
BUILD = "SELECT key, built_at, elapsed_s, toolchains, files, log FROM build WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Build:
    """How a server was built. `files` are its sources and lock files with their SHA-256."""

    key: str
    built_at: str
    elapsed_s: float
    toolchains: Mapping[str, str]
    files: Mapping[str, str]
    log: str


@dataclass(frozen=True, slots=True)
class RawOutput:
    """What the load generator printed in one trial: the one nearest the median rate."""

    invocation: int
    block: int
    connections: int
    command: tuple[str, ...]
    stdout: str
    stderr: str


def build_of(store: Store, build_id: int | None) -> Build | None:
    """None for what needs no build."""
    for row in store.rows(BUILD, build_id):
        values = {name: json.loads(row[name]) for name in ("toolchains", "files")}
        return Build(**{**row, **values, "log": _end(row["log"])})
    return None


def raw_output(store: Store, trials: Sequence[Mapping[str, Any]]) -> RawOutput | None:
    """Of the trial in the middle by rate at the last level; of a failed one if all failed."""
    if not trials:
        return None
    last = trials[-1]["connections"]
    at_level = sorted(
        (trial for trial in trials if trial["connections"] == last),
        key=lambda trial: (trial["rate_per_s"] is not None, trial["rate_per_s"] or 0.0),
    )
    measured = [trial for trial in at_level if trial["rate_per_s"]] or at_level
    (row,) = store.rows(OUTPUT, measured[len(measured) // 2]["id"])
    return RawOutput(
        invocation=row["invocation"],
        block=row["block"],
        connections=row["connections"],
        command=tuple(json.loads(row["command"])),
        stdout=_text(row["stdout"]),
        stderr=_text(row["stderr"]),
    )


def _text(packed: bytes | None) -> str:
    """The output, with what is left out said in its place."""
    if packed is None:
        return ""
    text = zlib.decompress(packed).decode(errors="replace")
    text = PACKED.sub(lambda found: f"({len(found[0]):,} characters)", text)
    if len(text) > OUTPUT_MAX:
        return f"{text[:OUTPUT_MAX]}\n({len(text) - OUTPUT_MAX:,} more characters in the store)"
    return text


def _end(log: str) -> str:
    """A long log's end, where the trouble stands."""
    if len(log) <= LOG_MAX:
        return log
    return f"({len(log) - LOG_MAX:,} characters before this in the store)\n{log[-LOG_MAX:]}"
