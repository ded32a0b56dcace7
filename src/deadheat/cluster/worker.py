"""What runs on the hosts of a pair, as actors of Ray. It waits while deadheat measures."""

import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from deadheat import __version__
from deadheat.cluster.ray_cpu import RayCpu, read_ray_cpu
from deadheat.store import Store, StoreError
from deadheat.store.bundle import export_run
from deadheat.store.listing import run_ids

ERROR_LINES = 6


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended. `bundle` is None if it stored none; `error` are its last lines if it failed.

    `ray_cpu` are Ray's CPU times on this host before and after the run.
    """

    exit_code: int
    bundle: bytes | None
    error: str
    ray_cpu: tuple[RayCpu, RayCpu]


class Worker:
    """One host of a pair."""

    def version(self) -> str:
        return f"deadheat {__version__}, Python {platform.python_version()}"

    def ray_cpu(self) -> RayCpu:
        import ray

        return read_ray_cpu(Path(ray.__file__).parent)

    def run(self, words: Sequence[str]) -> RunResult:
        """Carry out `deadheat run WORDS` with a store for it alone."""
        with tempfile.TemporaryDirectory(prefix="deadheat-") as folder:
            store = Path(folder) / "runs.sqlite"
            command = ["run", *words, "--store", str(store), "-o", str(Path(folder) / "run.md")]
            before = self.ray_cpu()
            completed = subprocess.run(
                [sys.executable, "-m", "deadheat.cli.tied", str(os.getpid()), *command],
                env={k: v for k, v in os.environ.items() if not k.startswith("RAY_")},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
            times = (before, self.ray_cpu())
            error = _error(completed.stderr) if completed.returncode else ""
            return RunResult(completed.returncode, _bundle(store), error, times)


def _error(printed: str) -> str:
    """From the last `error:` on; the last lines if there is none, as after a crash."""
    lines = printed.strip().splitlines()
    starts = [place for place, line in enumerate(lines) if line.startswith("error: ")]
    chosen = lines[starts[-1] :] if starts else lines
    return "\n".join(chosen[-ERROR_LINES:]).removeprefix("error: ")


def _bundle(store_path: Path) -> bytes | None:
    """The run in the store; None if it stored none."""
    if not store_path.exists():
        return None
    bundle = store_path.with_name("run.deadheat")
    with suppress(StoreError), Store(store_path, read_only=True) as store:
        for run_id in run_ids(store)[:1]:
            export_run(store, run_id, bundle)
            return bundle.read_bytes()
    return None
