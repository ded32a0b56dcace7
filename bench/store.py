#!/usr/bin/env python3
"""How long reports and served pages take over a store of 200 runs and 20,000 trials.

    python bench/store.py [--times 5] [--store FILE] [--json]

The store is made in a temporary folder, of the rows of the run in docs/results. Its last run, of 60
contenders and 1,000 trials, is the one that is shown. Reports are fresh processes; a page has been
asked for once before it is timed. Figures are medians over `--times`. One that misses its aim ends
this with exit code 1.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from deadheat.report import FORMATS
from deadheat.report.model.runs import list_runs
from deadheat.store import Store

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.made_store import make
from bench.served import DEADHEAT, Served

MODEL = Path(__file__).parents[1] / "docs" / "results" / "make-run.deadheat"
SERVER = "go-gin"
COMMAND_S_MAX = 3.0
FIRST_BYTE_S_MAX = 0.2


@dataclass(frozen=True, slots=True)
class Figure:
    """What was timed, each time in seconds, and the most that their median may be; None: no aim."""

    name: str
    times_s: Sequence[float]
    at_most_s: float | None

    @property
    def passes(self) -> bool:
        return self.at_most_s is None or median(self.times_s) <= self.at_most_s

    def __str__(self) -> str:
        spread = f"({1000 * min(self.times_s):,.0f}, {1000 * max(self.times_s):,.0f})"
        figures = f"{self.name:<28}{1000 * median(self.times_s):>8,.0f}{spread:>18}"
        if self.at_most_s is None:
            return f"{figures}{'–':>9}"
        return f"{figures}{1000 * self.at_most_s:>9,.0f}  {'PASS' if self.passes else 'FAIL'}"


def main() -> int:
    args = arguments()
    with tempfile.TemporaryDirectory(prefix="deadheat-bench-") as folder:
        store = args.store or make(Path(folder) / "runs.sqlite", MODEL)
        figures = [*commands(store, args.times), *pages(store, args.times)]
    if args.json:
        print(
            json.dumps([asdict(figure) | {"pass": figure.passes} for figure in figures], indent=1)
        )
    else:
        print(f"{'ms':<28}{'median':>8}{'(least, most)':>18}{'at most':>9}")
        print("\n".join(map(str, figures)))
    return 0 if all(figure.passes for figure in figures) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="reports and served pages over a large store")
    parser.add_argument("--times", type=int, default=5, help="of each figure (default 5)")
    parser.add_argument("--store", type=Path, help="this store instead of a made one")
    parser.add_argument("--json", action="store_true", help="every time, and the aims")
    args = parser.parse_args()
    if args.times < 1:
        parser.error("--times must be 1 or more")
    return args


def commands(store: Path, times: int) -> Iterator[Figure]:
    """Fresh processes, from start to end."""
    words_by_name = {f"report --format {name}": ["report", "--format", name] for name in FORMATS}
    words_by_name["report --format svg"] = ["report", "--format", "svg"]
    words_by_name["report --list"] = ["report", "--list"]
    words_by_name["compare"] = ["compare", *run_ids(store)[:2]]
    for name, words in words_by_name.items():
        yield Figure(name, [process_s(words, store) for _ in range(times)], COMMAND_S_MAX)


def process_s(words: Sequence[str], store: Path) -> float:
    begun_s = time.perf_counter()
    subprocess.run(
        [*DEADHEAT, *words, "--store", str(store)], stdout=subprocess.DEVNULL, check=True
    )
    return time.perf_counter() - begun_s


def pages(store: Path, times: int) -> Iterator[Figure]:
    """First bytes of what was asked for before; and of documents made anew, which have no aim."""
    last, middle = run_ids(store)[0], run_ids(store)[100]
    with Served(store) as served:
        for name, run_id in (("largest", last), ("usual", middle)):
            taken_s = served.first_byte_s(f"/runs/{run_id}/document")
            yield Figure(f"document, new, {name}", [taken_s], None)
        path_by_name = {
            "/": "/",
            "/runs/ID": f"/runs/{last}",
            "/runs/ID/document": f"/runs/{last}/document",
            "/servers/NAME": f"/servers/{SERVER}",
        }
        for name, path in path_by_name.items():
            served.first_byte_s(path)
            yield Figure(name, [served.first_byte_s(path) for _ in range(times)], FIRST_BYTE_S_MAX)


def run_ids(path: Path) -> list[str]:
    with Store(path, read_only=True) as store:
        return [run.run_id for run in list_runs(store)]


if __name__ == "__main__":
    sys.exit(main())
