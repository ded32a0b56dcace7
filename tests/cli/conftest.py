import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deadheat.campaign.run import RunContext
from deadheat.cli import capacity, main
from deadheat.cli.endings import ExitCode
from deadheat.host import cpu_time
from deadheat.load import find_engine
from deadheat.protocol import SearchProtocol
from deadheat.store import Store
from tests.hosts.greeting import race_protocol
from tests.report.made import MadeRun, made_run
from tests.servers.contenders import CATALOG

HERE = Path(__file__).resolve().parents[2]


def short_race(stopping: str) -> str:
    """The file of a race of short trials; `stopping` is as TOML has it."""
    values = {"connections": "[2]", "duration_s": "0.1", "warmup": '{ kind = "none" }'}
    return race_protocol("short", stopping, controls="false", **values)


ONE_BY_ONE = """
name = "one-by-one"
about = "Two short trials of each server."
kind = "alone"
connections = [2]
duration_s = 0.1
order = "listed"
controls = false

[warmup]
kind = "none"

[stopping]
kind = "fixed"
repetitions = 2
"""


@contextmanager
def started(*words: str, before: str = "") -> Iterator["subprocess.Popen[str]"]:
    """`deadheat` in a process of its own, which begins with the code `before`."""
    code = f"{before}from deadheat.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, *words],
        env={
            **os.environ,
            "PYTHONPATH": str(HERE / "src"),
            "DEADHEAT_LOAD": find_engine(),
            "PYTHONUNBUFFERED": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


def rows(home: Path, query: str) -> list[dict[str, Any]]:
    with Store(home / "runs.sqlite", read_only=True) as store:
        return store.rows(query)


@dataclass(frozen=True, slots=True)
class Ended:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def ran(self) -> bool:
        """Whether a run was carried out: on a busy machine none of its trials may be valid."""
        return self.code in (ExitCode.OK, ExitCode.NO_ANSWER)

    @property
    def hint(self) -> str:
        return self.err.partition("hint: ")[2].strip()


Deadheat = Callable[..., Ended]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home of deadheat, with the catalog of the tests."""
    folder = tmp_path / "home"
    monkeypatch.setenv("DEADHEAT_HOME", str(folder))
    monkeypatch.setenv("DEADHEAT_CATALOG", str(CATALOG))
    monkeypatch.setenv("COLUMNS", "160")
    here = Path(sys.executable).parent  # its python3 is the one that the manifests need
    monkeypatch.setenv("PATH", f"{here}:{os.environ['PATH']}")
    monkeypatch.setattr(cpu_time, "READING_S", 0.1)  # how quiet the machine is changes no test
    return folder


@pytest.fixture
def deadheat(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Deadheat:
    """Runs a command line as the entry point does."""

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["deadheat", *arguments])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    return run


@pytest.fixture
def run(home: Path) -> MadeRun:
    """The only stored run, complete, of two contenders."""
    home.mkdir()
    run = made_run(home / "runs.sqlite")
    run.race({"alpha": 9000, "beta": 3000}, blocks=4)
    run.end()
    return run


@pytest.fixture
def catalog(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the catalog, to be changed."""
    folder = Path(shutil.copytree(CATALOG, tmp_path / "catalog"))
    monkeypatch.setenv("DEADHEAT_CATALOG", str(folder))
    return folder


@pytest.fixture
def bare_path(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with nothing installed."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[RunContext[SearchProtocol]]:
    """The searches for a capacity that were begun. They find nothing."""
    begun: list[RunContext[SearchProtocol]] = []

    def find_capacities(context: RunContext[SearchProtocol], _: object) -> list[object]:
        begun.append(context)
        return []

    monkeypatch.setattr(capacity, "find_capacities", find_capacities)
    return begun
