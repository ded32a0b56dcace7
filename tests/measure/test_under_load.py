"""Servers that misbehave only under load get the verdict of `bench/faulted/modes.py`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.faulted import moody
from bench.faulted.modes import VERDICTS
from deadheat.build.builder import Built
from deadheat.build.prepare import Candidate
from deadheat.catalog import selection
from deadheat.host import Limits
from deadheat.host.local import LocalHost
from deadheat.load import find_engine
from deadheat.measure import inspection
from deadheat.measure.inspection import inspect
from deadheat.measure.world import World
from tests.build.made import MANIFEST, made_server

LEVEL = 5


@pytest.fixture(scope="module")
def small_world(world: World) -> Iterator[World]:
    """Servers with little memory and few processes, so that leaks end soon."""
    limits = Limits(memory_bytes=150 << 20, processes=30)
    with LocalHost(limits=limits) as host:
        loads = tuple(replace(side, host=host) for side in world.loads)
        yield replace(world, server_host=host, loads=loads)


def candidate(folder: Path, mode: str) -> Candidate:
    command = [sys.executable, "-I", "-S", moody.__file__, mode, "{host}", "{port}"]
    given = '["{name}", "{{host}}:{{port}}"]'
    assert given in MANIFEST
    words = json.dumps(command).replace("{", "{{").replace("}", "}}")
    server = made_server(folder, manifest=MANIFEST.replace(given, words))
    built = Built(server, "key", server.folder, "", 0.0, {}, {}, cached=True)
    return Candidate(selection(server), built, "1.0", None)


def test_each_mode_has_a_verdict() -> None:
    assert [*VERDICTS] == [*moody.MODES]


ALONE = {"spins when idle"}  # on a busy machine it does not get half of a CPU
MODES = [pytest.param(mode, marks=pytest.mark.alone if mode in ALONE else ()) for mode in VERDICTS]


@pytest.mark.parametrize("mode", MODES)
def test_bug_verify_did_not_see_what_a_load_sees(
    mode: str, small_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "SERVE_S", 0.8)
    monkeypatch.setattr(inspection, "RETRY_S", 1.0)
    monkeypatch.setattr(inspection, "RETRIES", 1)
    inspected = inspect(small_world, candidate(tmp_path, mode), [LEVEL])
    wanted = VERDICTS[mode]
    said = f"{inspected.fault} {inspected.cautions}"
    assert (inspected.state, wanted.words in said) == (wanted.state, True), said


RACE = """
name = "race"
about = "A race that is long enough to see what a short load does not."
kind = "slices"
connections = [2]
duration_s = 0.1
controls = false

[slices]
rounds = 4
control_every = 1

[warmup]
kind = "steady"
window_s = 0.2
least_s = 0.5
limit_s = 4

[stopping]
kind = "settle"
invocations = 1
budget_s = 14
"""


def raced(mode: str, folder: Path) -> dict[str, Any]:
    """The JSON report of a race of a server of that mode, alone."""
    (folder / "race.toml").write_text(RACE)
    moods = [sys.executable, "-I", "-S", moody.__file__, mode, "127.0.0.1", "{port}"]
    words = ["run", "--protocol", "race.toml", "--json", "--", *moods]
    done = subprocess.run(
        [sys.executable, "-c", "from deadheat.cli import main; main()", *words],
        cwd=folder,
        env={**os.environ, "DEADHEAT_HOME": str(folder / "home"), "DEADHEAT_LOAD": find_engine()},
        capture_output=True,
        text=True,
    )
    assert done.stdout, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.alone
def test_a_server_that_is_fast_for_two_seconds_has_its_later_rate(tmp_path: Path) -> None:
    report = raced("fast for the first 2 s", tmp_path)
    (contender,) = (each for each in report["contenders"] if each["role"] == "contender")
    (level,) = contender["levels"]
    assert level["rate_per_s"] is not None
    assert level["rate_per_s"] <= 1.2 / moody.SLOW_S, "one loop sleeps that long for each request"


@pytest.mark.alone
def test_a_server_that_dies_while_it_is_frozen_loses_that_trial(tmp_path: Path) -> None:
    report = raced("dies while frozen", tmp_path)
    said = json.dumps(report["cautions"])
    assert "exit 7" in said, said
    (contender,) = (each for each in report["contenders"] if each["role"] == "contender")
    assert all(level["trials_valid"] < len(level["trials"]) for level in contender["levels"])
