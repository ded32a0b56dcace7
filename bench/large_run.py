#!/usr/bin/env python3
"""How long each report of one run of 20,000 trials takes, beside the small run it was made from.

    python bench/large_run.py [--trials 20000] [--times 3] [--profile FORMAT] [--json]

The large run repeats the blocks of a stored run: once of one with whole trials, once of a race in
slices. Each figure is the median over `--times` fresh processes. `ratio` is large over small; the
number of trials grows by the factor that is printed with it. A report of the large run that takes
longer than 3 s ends this with exit code 1.
"""

import argparse
import cProfile
import json
import pstats
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from served import DEADHEAT

from deadheat import report
from deadheat.store import Store
from deadheat.store.bundle import import_runs, open_bundle

RESULTS = Path(__file__).parents[1] / "docs" / "results"
MODELS = {"trials": "settle-24-a.deadheat", "slices": "make-run.deadheat"}
FORMATS = (*report.FORMATS, "svg")
CLONES = 4
REPORT_S_MAX = 3.0


@dataclass(frozen=True, slots=True)
class Figure:
    """One format of one kind of run: medians in seconds."""

    kind: str
    format: str
    small_s: float
    large_s: float
    small_trials: int
    large_trials: int

    @property
    def passes(self) -> bool:
        return self.large_s <= REPORT_S_MAX

    def __str__(self) -> str:
        ratio, growth = self.large_s / self.small_s, self.large_trials / self.small_trials
        return (
            f"{self.kind:<8}{self.format:<10}{self.small_s:>8.2f}{self.large_s:>8.2f}"
            f"{ratio:>8.1f}{growth:>8.0f}  {'PASS' if self.passes else 'FAIL'}"
        )


def main() -> int:
    args = arguments()
    with tempfile.TemporaryDirectory(prefix="deadheat-bench-") as folder:
        if args.profile:
            for kind in args.kinds:
                profile(make(Path(folder), kind, args.trials), args.profile)
            return 0
        figures = [
            figure
            for kind in args.kinds
            for figure in measure(Path(folder), kind, args.trials, args.times)
        ]
    if args.json:
        print(json.dumps([asdict(each) | {"pass": each.passes} for each in figures], indent=1))
    else:
        print(f"{'s':<18}{'small':>8}{'large':>8}{'ratio':>8}{'trials':>8}")
        print("\n".join(map(str, figures)))
    return 0 if all(figure.passes for figure in figures) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="reports of one run of 20,000 trials")
    parser.add_argument("--trials", type=int, default=20_000, help="at least (default 20,000)")
    parser.add_argument("--times", type=int, default=3, help="of each figure (default 3)")
    parser.add_argument("--kinds", nargs="+", choices=[*MODELS], default=[*MODELS])
    parser.add_argument("--profile", choices=FORMATS, help="print where the time goes instead")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.times < 1:
        parser.error("--times must be 1 or more")
    return args


def measure(folder: Path, kind: str, trials: int, times: int) -> Iterator[Figure]:
    small, large = make(folder, kind, 1), make(folder, kind, trials)
    for name in FORMATS:
        yield Figure(
            kind=kind,
            format=name,
            small_s=median(report_s(small, name) for _ in range(times)),
            large_s=median(report_s(large, name) for _ in range(times)),
            small_trials=trials_of(small),
            large_trials=trials_of(large),
        )


def report_s(store: Path, name: str) -> float:
    begun_s = time.perf_counter()
    words = ["report", "--format", name, "--store", str(store)]
    subprocess.run([*DEADHEAT, *words], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun_s


def profile(store_path: Path, name: str) -> None:
    with Store(store_path, read_only=True) as store:
        (run,) = store.rows("SELECT id FROM run")
        with cProfile.Profile() as profiled:
            report.write(report.load_view(store, run["id"], whole=name in report.WHOLE), name)
    pstats.Stats(profiled).sort_stats("cumulative").print_stats(45)


def trials_of(store_path: Path) -> int:
    with Store(store_path, read_only=True) as store:
        return int(store.rows("SELECT count(*) AS trials FROM trial")[0]["trials"])


def make(folder: Path, kind: str, trials: int) -> Path:
    """A store with one run: the model's, repeated until it has at least `trials`.

    The large run has `CLONES` times the contenders, and new instances in each repetition.
    """
    path = folder / f"{kind}-{trials}.sqlite"
    with open_bundle(RESULTS / MODELS[kind]) as model, Store(path) as store:
        import_runs(store, model, kind)
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        run = _Run(connection)
        copies = -(-trials // len(run.trials))
        for copy in range(1, copies):
            run.repeat(copy // CLONES, copy % CLONES, new_instances=kind != "slices")
        connection.commit()
    return path


class _Run:
    """The rows of the only run of a store, which can be added once more."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.trials = self._all("SELECT * FROM trial WHERE kind = 'measure'")
        self._instances = self._all("SELECT * FROM instance")
        self._clones = [{row["id"]: row["id"] for row in self._all("SELECT id FROM contender")}]
        self._blocks = max(row["block"] for row in self.trials)
        self._invocations = max(row["invocation"] for row in self.trials)
        self._length_s = max(row["at_s"] for row in self.trials) + 10

    def repeat(self, times: int, clone: int, new_instances: bool) -> None:
        """Every trial of one clone of the contenders, `times` lengths of the race later."""
        later_s, blocks = times * self._length_s, times * self._blocks
        invocations = times * self._invocations if new_instances else 0
        contenders = self._clone(clone)
        instances = {
            row["id"]: self._instance(dict(row) | {
                "id": None,
                "contender_id": contenders[row["contender_id"]],
                "invocation": row["invocation"] + invocations,
                "at_s": row["at_s"] + later_s,
            })
            for row in self._instances
        }  # fmt: skip
        for row in self.trials:
            changed = {
                "id": None,
                "contender_id": contenders[row["contender_id"]],
                "instance_id": instances.get(row["instance_id"]),
                "invocation": row["invocation"] + invocations,
                "block": row["block"] + blocks,
                "at_s": row["at_s"] + later_s,
            }
            trial_id = self._add("trial", dict(row) | changed)
            for table in ("histogram", "series", "error", "gate"):
                for part in self._all(f"SELECT * FROM {table} WHERE trial_id = ?", row["id"]):
                    values = dict(part) | {"trial_id": trial_id}
                    if table == "series" and part["name"] == "slices":
                        values["rows"] = _later(part["rows"], blocks, later_s)
                    self._add(table, values)

    def _instance(self, values: dict[str, Any]) -> int:
        """The instance, which may be there already."""
        query = "SELECT id FROM instance WHERE contender_id = ? AND invocation = ?"
        rows = self._all(query, values["contender_id"], values["invocation"])
        return rows[0]["id"] if rows else self._add("instance", values)

    def _clone(self, clone: int) -> dict[int, int]:
        """The ids of the contenders' clones by those of the contenders."""
        if clone == len(self._clones):
            rows = self._all("SELECT * FROM contender ORDER BY id")[: len(self._clones[0])]
            self._clones.append({
                row["id"]: self._add("contender", dict(row) | {
                    "id": None,
                    "position": row["position"] + clone * len(rows),
                    "name": f"{row['name']}-{clone}",
                })
                for row in rows
            })  # fmt: skip
        return self._clones[clone]

    def _all(self, query: str, *values: object) -> list[sqlite3.Row]:
        return self._connection.execute(query, values).fetchall()

    def _add(self, table: str, values: dict[str, Any]) -> int:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        cursor = self._connection.execute(
            f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values())
        )
        return cursor.lastrowid or 0


def _later(packed: bytes, blocks: int, later_s: float) -> bytes:
    slices = json.loads(zlib.decompress(packed))
    for each in slices:
        each["round"] += 1000 * blocks
        each["at_s"] += later_s
    return zlib.compress(json.dumps(slices).encode())


if __name__ == "__main__":
    sys.exit(main())
