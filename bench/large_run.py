#!/usr/bin/env python3
"""What each report of one run of 20,000 trials costs, with and without what its run kept.

    python bench/large_run.py [--trials 20000] [--times 3] [--than SRC] [--profile FORMAT] [--json]

The large run repeats the blocks of a stored race. Each figure is the median over `--times` fresh
processes, of their CPU time in seconds and of their peak memory in MiB. `alone` is the first report
of a run of which nothing is kept, as of a bundle that is read with --from. `after run` is one after
the terminal's: a run makes that when it ends, and keeps what it works out from all trials.
`deadheat import` does the same. `--than` also measures the sources in that folder, in turns.
Bytecode is cached, as after the first command. A report after its run of more than 3 s of CPU time
ends this with exit code 1.
"""

import argparse
import cProfile
import json
import os
import pstats
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from deadheat import report
from deadheat.store import Store
from deadheat.store.bundle import import_runs, open_bundle

RESULTS = Path(__file__).parents[1] / "docs" / "results"
MODEL = RESULTS / "make-run.deadheat"
FORMATS = (*report.FORMATS, "svg")
CLONES = 4
REPORT_S_MAX = 3.0


MAIN = "import sys; from deadheat.cli import main; sys.exit(main())"


@dataclass(frozen=True, slots=True)
class Figure:
    """One format: medians of CPU time, and of the peak memory after the run.

    `than_cpu_s` and `than_mib` are those of other sources; None without `--than`.
    """

    format: str
    trials: int
    alone_cpu_s: float
    after_run_cpu_s: float
    mib: float
    than_cpu_s: float | None
    than_mib: float | None

    @property
    def passes(self) -> bool:
        return self.after_run_cpu_s <= REPORT_S_MAX

    def __str__(self) -> str:
        than = (
            f"{'–':>8}{'–':>8}"
            if self.than_cpu_s is None or self.than_mib is None
            else f"{self.than_cpu_s:>8.2f}{self.than_mib:>8.0f}"
        )
        return (
            f"{self.format:<10}{self.trials:>8}{self.alone_cpu_s:>8.2f}"
            f"{self.after_run_cpu_s:>11.2f}{self.mib:>8.0f}{than}"
            f"  {'PASS' if self.passes else 'FAIL'}"
        )


def main() -> int:
    args = arguments()
    with tempfile.TemporaryDirectory(prefix="deadheat-bench-") as folder:
        if args.profile:
            profile(make(Path(folder), args.trials), args.profile)
            return 0
        os.environ["DEADHEAT_HOME"] = str(Path(folder) / "home")
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder) / "bytecode")
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        if not args.json:
            print(f"{'':<10}{'':>8}{'CPU s':>19}{'MiB':>8}{'than: s':>8}{'MiB':>8}")
            print(f"{'':<10}{'trials':>8}{'alone':>8}{'after run':>11}", flush=True)
        figures = []
        for figure in measure(make(Path(folder), args.trials), args):
            figures.append(figure)
            if not args.json:
                print(figure, flush=True)
    if args.json:
        print(json.dumps([asdict(each) | {"pass": each.passes} for each in figures], indent=1))
    return 0 if all(figure.passes for figure in figures) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="reports of one run of 20,000 trials")
    parser.add_argument("--trials", type=int, default=20_000, help="at least (default 20,000)")
    parser.add_argument("--times", type=int, default=3, help="of each figure (default 3)")
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument("--than", type=Path, metavar="SRC", help="other sources, as a second turn")
    parser.add_argument("--profile", choices=FORMATS, help="print where the time goes instead")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if args.times < 1:
        parser.error("--times must be 1 or more")
    return args


def measure(store: Path, args: argparse.Namespace) -> Iterator[Figure]:
    home = Path(os.environ["DEADHEAT_HOME"])
    for name in args.formats:
        alone, after_run, than = [], [], []
        cost(store, name)  # compiles the modules of the format
        if args.than:
            cost(store, name, args.than)
        for _ in range(args.times):
            shutil.rmtree(home, ignore_errors=True)
            alone.append(cost(store, name))
            shutil.rmtree(home, ignore_errors=True)
            if args.than:
                than.append(cost(store, name, args.than))
                shutil.rmtree(home, ignore_errors=True)
            cost(store, "terminal")
            after_run.append(cost(store, name))
        yield Figure(
            format=name,
            trials=trials_of(store),
            alone_cpu_s=median(cpu_s for cpu_s, _ in alone),
            after_run_cpu_s=median(cpu_s for cpu_s, _ in after_run),
            mib=median(mib for _, mib in after_run),
            than_cpu_s=median(cpu_s for cpu_s, _ in than) if than else None,
            than_mib=median(mib for _, mib in than) if than else None,
        )


def cost(store: Path, name: str, sources: Path | None = None) -> tuple[float, float]:
    """CPU time in seconds and peak memory in MiB of one report, made by a new process."""
    words = [sys.executable, "-c", MAIN, "report", "--format", name, "--store", str(store)]
    places = {"PYTHONPATH": str(sources.absolute())} if sources else {}
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, env=os.environ | places) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def profile(store_path: Path, name: str) -> None:
    with Store(store_path, read_only=True) as store:
        (run,) = store.rows("SELECT id FROM run")
        with cProfile.Profile() as profiled:
            report.write(report.load_view(store, run["id"], whole=name in report.WHOLE), name)
    pstats.Stats(profiled).sort_stats("cumulative").print_stats(45)


def trials_of(store_path: Path) -> int:
    with Store(store_path, read_only=True) as store:
        return int(store.rows("SELECT count(*) AS trials FROM trial")[0]["trials"])


def make(folder: Path, trials: int) -> Path:
    """A store with one run: the model's, repeated until it has at least `trials`.

    The large run has `CLONES` times the contenders.
    """
    path = folder / f"{trials}.sqlite"
    with open_bundle(MODEL) as model, Store(path) as store:
        import_runs(store, model, MODEL.name)
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        run = _Run(connection)
        copies = -(-trials // len(run.trials))
        for copy in range(1, copies):
            run.repeat(copy // CLONES, copy % CLONES)
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
        self._length_s = max(row["at_s"] for row in self.trials) + 10

    def repeat(self, times: int, clone: int) -> None:
        """Every trial of one clone of the contenders, `times` lengths of the race later."""
        later_s, blocks = times * self._length_s, times * self._blocks
        contenders = self._clone(clone)
        instances = {
            row["id"]: self._instance(dict(row) | {
                "id": None,
                "contender_id": contenders[row["contender_id"]],
                "at_s": row["at_s"] + later_s,
            })
            for row in self._instances
        }  # fmt: skip
        for row in self.trials:
            changed = {
                "id": None,
                "contender_id": contenders[row["contender_id"]],
                "instance_id": instances.get(row["instance_id"]),
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
