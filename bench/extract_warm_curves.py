#!/usr/bin/env python3
"""Collect the stored runs' warm-up curves into the tests' data file.

    python bench/extract_warm_curves.py [--out tests/stats/data/warm_curves.json.xz]

Reads the `settle` and `long` runs in docs/results. A curve is one start of a contender: the windows
of its warm-up, then the trials measured on it. `neighbors` says how fast the machine was then: the
median, over the two starts before and the two after it, of each one's final rate relative to the
best of the same server in that run.
"""

import argparse
import json
import lzma
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
SOURCES = (
    "2026-11-20.sqlite.xz",
    "2026-11-20-make-run.sqlite.xz",
    "settle-24-a.deadheat",
    "settle-24-b.deadheat",
    "long-8.deadheat",
)
STARTS = """
    SELECT start.id, start.invocation, start.steady, contender.name, contender.role,
           contender.manifest
    FROM start JOIN contender ON contender.id = start.contender_id
    WHERE contender.run_id = ? AND start.steady IS NOT NULL
      AND json_extract(start.steady, '$.kind') != 'unsought'
    ORDER BY start.at_s
"""
TRIALS = """
    SELECT json_extract(result, '$.requests_sent_in_all') AS requests, rate_per_s
    FROM trial WHERE start_id = ? AND kind = 'measure' AND state = 'ok' ORDER BY at_s
"""
LAST_WINDOWS = 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "tests/stats/data/warm_curves.json.xz")
    out = parser.parse_args().out
    curves = [curve for name in SOURCES for curve in curves_of(name)]
    text = json.dumps({"window_s": 0.1, "curves": curves}, separators=(",", ":"))
    out.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(curves)} curves, {out.stat().st_size:,} bytes: {out}")


def curves_of(name: str) -> Iterator[dict[str, Any]]:
    with tempfile.NamedTemporaryFile(suffix=".sqlite") as store:
        store.write(lzma.decompress((RESULTS / name).read_bytes()))
        store.flush()
        connection = sqlite3.connect(store.name)
        connection.row_factory = sqlite3.Row
        for (run,) in connection.execute("SELECT id FROM run ORDER BY started_at").fetchall():
            yield from curves_of_run(connection, run, name)
        connection.close()


def curves_of_run(connection: sqlite3.Connection, run: str, name: str) -> Iterator[dict[str, Any]]:
    starts = connection.execute(STARTS, (run,)).fetchall()
    warmings = [json.loads(start["steady"]) for start in starts]
    finals = [median(warming["windows_per_s"][-LAST_WINDOWS:]) for warming in warmings]
    best: dict[str, float] = {}
    for start, final in zip(starts, finals, strict=True):
        best[start["name"]] = max(best.get(start["name"], 0.0), final)
    relative = [final / best[start["name"]] for start, final in zip(starts, finals, strict=True)]
    for place, (start, warming) in enumerate(zip(starts, warmings, strict=True)):
        if start["role"] != "rival":
            continue
        manifest = json.loads(start["manifest"])
        near = relative[max(place - 2, 0) : place] + relative[place + 1 : place + 3]
        trials = connection.execute(TRIALS, (start["id"],)).fetchall()
        yield {
            "source": name,
            "run": run,
            "server": start["name"],
            "language": manifest["language"],
            "instance": start["invocation"],
            "old_kind": warming["kind"],
            "neighbors": round(median(near), 2),
            "requests": [round(rate * warming["window_s"]) for rate in warming["windows_per_s"]],
            "later": [[trial["requests"], trial["rate_per_s"]] for trial in trials],
        }


if __name__ == "__main__":
    main()
