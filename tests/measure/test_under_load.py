"""Servers that misbehave only under load get the verdict of `bench/faulted/modes.py`."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.faulted import moody
from bench.faulted.modes import VERDICTS
from deadheat.build.builder import Built
from deadheat.build.prepare import Candidate
from deadheat.catalog import selection
from deadheat.host import Limits
from deadheat.host.local import LocalHost
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


@pytest.mark.parametrize("mode", VERDICTS)
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
