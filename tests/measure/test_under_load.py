"""Servers that misbehave only under load get the verdict of `bench/faulted/modes.py`."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
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
from tests.hosts.greeting import race_protocol

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
    manifest = MANIFEST.replace(given, words) + "stop_s = 1\n"
    server = made_server(folder, manifest=manifest)
    built = Built(server, "key", server.folder, "", 0.0, {}, {}, cached=True)
    return Candidate(selection(server), built, "1.0", None)


def test_each_mode_has_a_verdict() -> None:
    assert [*VERDICTS] == [*moody.MODES]


GROWING = {"leaks", "forks"}  # the agent checks limits five times a second


@pytest.mark.parametrize("mode", VERDICTS)
def test_bug_verify_did_not_see_what_a_load_sees(
    mode: str, small_world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "SERVE_S", 0.8 if mode in GROWING else 0.3)
    monkeypatch.setattr(inspection, "RETRY_S", 1.0 if mode in GROWING else 0.4)
    monkeypatch.setattr(inspection, "RETRIES", 1)
    monkeypatch.setattr(inspection, "IDLE_S", 0.2)
    inspected = inspect(small_world, candidate(tmp_path, mode), [LEVEL])
    wanted = VERDICTS[mode]
    said = f"{inspected.fault} {inspected.cautions}"
    assert (inspected.state, wanted.words in said) == (wanted.state, True), said


SETTLED = 'kind = "settle", invocations = 1, budget_s = 14'  # a short load does not see all
TWICE_STARTED = 'kind = "fixed", repetitions = 5, invocations = 2'  # also on a busy machine
TRIES = 3  # noise may cost a start, and the other one is never frozen
STEADY = 'kind = "steady", window_s = 0.2, least_s = 0.5, limit_s = 4'
SHORT = 'kind = "fixed", duration_s = 0.5'  # noise may keep a rate from being steady
RACE = race_protocol(
    "race",
    SETTLED,
    connections="[2]",
    duration_s="0.1",
    controls="false",
    slices="{ rounds = 4, control_every = 1 }",
    warmup=f"{{ {STEADY} }}",
)


def raced(mode: str, folder: Path, race: str) -> dict[str, Any]:
    """The JSON report of a race of a server of that mode, alone."""
    (folder / "race.toml").write_text(race)
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


def raced_together(races: Mapping[str, str], root: Path) -> list[dict[str, Any]]:
    """The reports of races by the mode of their server, at the same time."""
    folders = [root / str(number) for number in range(len(races))]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor() as pool:
        return [*pool.map(raced, races, folders, races.values())]


@pytest.mark.parametrize("mode", ["answers in drops", "replaces its worker"])
def test_a_race_has_no_figure_of_a_server_that_answers_only_in_part(
    mode: str, tmp_path: Path
) -> None:
    document = raced(mode, tmp_path, RACE.replace("budget_s = 14", "budget_s = 4"))
    (contender,) = (each for each in document["contenders"] if each["role"] == "contender")
    trials = [trial for level in contender["levels"] for trial in level["trials"]]
    assert not any(trial["valid"] for trial in trials), trials
    reasons = [each for each in document["cautions"] if "python" in (each["contenders"] or ())]
    assert contender["fault"] or reasons or trials, "a busy machine may not end its warm-up"


@pytest.mark.alone
def test_a_race_sees_what_a_short_load_does_not(tmp_path: Path) -> None:
    """Two races at the same time: both servers sleep for most of it."""
    races = {
        "fast for the first 2 s": RACE,
        "dies while frozen": RACE.replace(SETTLED, TWICE_STARTED).replace(STEADY, SHORT),
    }
    fast_at_first, dies_frozen = raced_together(races, tmp_path)
    (contender,) = (each for each in fast_at_first["contenders"] if each["role"] == "contender")
    (level,) = contender["levels"]
    assert level["rate_per_s"] is not None
    assert level["rate_per_s"] <= 1.2 / moody.SLOW_S, "one loop sleeps that long for each request"
    for number in range(1, TRIES):
        if "exit 7" not in json.dumps(dies_frozen["cautions"]):
            (folder := tmp_path / f"again-{number}").mkdir()
            mode = "dies while frozen"
            dies_frozen = raced(mode, folder, races[mode])
    said = json.dumps(dies_frozen["cautions"])
    assert "exit 7" in said, said
    (contender,) = (each for each in dies_frozen["contenders"] if each["role"] == "contender")
    assert all(level["trials_valid"] < len(level["trials"]) for level in contender["levels"])
