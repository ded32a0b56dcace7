from pathlib import Path

import pytest

from deadheat.build.builder import Builder
from deadheat.build.prepare import Candidate, ask_version, prepare
from deadheat.catalog import Server, selection
from deadheat.events import Event, Progress
from deadheat.host import Completed, ProcessSpec
from deadheat.host.fake import FakeHost
from tests.build.made import made_server


def answering(**stdout: str) -> FakeHost:
    """A machine with these programs: what each prints."""
    host = FakeHost()
    host.on_run(
        lambda command: command[0] in stdout,
        lambda _, spec: Completed(0, stdout[spec.command[0]], "", 0.1, 0.1),
    )
    return host


@pytest.fixture
def servers(tmp_path: Path) -> list[Server]:
    return [made_server(tmp_path, name) for name in ("one", "two")]


@pytest.fixture
def told() -> list[Progress | Event]:
    return []


def prepared(
    host: FakeHost, servers: list[Server], folder: Path, told: list[Progress | Event]
) -> list[Candidate]:
    selections = [selection(server, workers=workers) for server in servers for workers in (1, 2)]
    return prepare(selections, host, Builder(host, folder), told.append)


def troubles(told: list[Progress | Event]) -> list[str]:
    return [event.what for event in told if isinstance(event, Event) and event.trouble]


def test_every_server_is_built_once_and_asked_for_its_version(
    servers: list[Server], tmp_path: Path, told: list[Progress | Event]
) -> None:
    host = answering(maker="maker 1.0\n", made="made 2.3.4-rc1 of today\n")
    candidates = prepared(host, servers, tmp_path / "builds", told)
    assert [c.selection.name for c in candidates] == ["one", "one:w2", "two", "two:w2"]
    assert {candidate.version for candidate in candidates} == {"2.3.4-rc1"}
    assert [c.built is not None and c.built.cached for c in candidates] == [False, True] * 2
    assert [candidate.fault for candidate in candidates] == [None] * 4
    assert troubles(told) == []


def test_what_is_missing_is_told_once_with_how_to_get_it(
    servers: list[Server], tmp_path: Path, told: list[Progress | Event]
) -> None:
    candidates = prepared(FakeHost(), servers, tmp_path / "builds", told)
    assert {candidate.fault for candidate in candidates} == {
        "one is left out: maker is not installed",
        "two is left out: maker is not installed",
    }
    assert troubles(told) == [
        "one is left out: maker is not installed\n  install it: get maker",
        "two is left out: maker is not installed\n  install it: get maker",
    ]


def test_a_build_that_fails_leaves_the_others_in(
    servers: list[Server], tmp_path: Path, told: list[Progress | Event]
) -> None:
    host = answering(maker="maker 1.0\n", made="2.3\n")
    host.on_run(
        lambda command: "one" in "".join(command), lambda *_: Completed(1, "", "no\n", 1, 1)
    )
    candidates = prepared(host, servers, tmp_path / "builds", told)
    assert [candidate.built is not None for candidate in candidates] == [False, False, True, True]
    (trouble,) = troubles(told)
    assert "ended with 1" in trouble
    assert "the whole log: " in trouble


@pytest.mark.parametrize(
    ("completed", "version"),
    [
        (Completed(0, "made 1.2\n", "", 0.1, 0.1), "1.2"),
        (Completed(0, "", "made 1.2.3b4\n", 0.1, 0.1), "1.2.3b4"),
        (Completed(0, "made\n", "", 0.1, 0.1), None),
        (Completed(1, "", "/usr/lib/python3.11/runpy.py: error", 0.1, 0.1), None),
        (Completed(0, "made 1.2\n", "", 10**6, 0.1), None),
    ],
)
def test_a_version_is_what_a_built_server_tells(
    servers: list[Server], tmp_path: Path, completed: Completed, version: str | None
) -> None:
    """Regression: the path in an error message was taken for a version."""
    host = answering(maker="maker 1.0\n")
    (built, *_) = [c.built for c in prepared(host, servers, tmp_path / "builds", [])]
    assert built is not None
    asked: list[ProcessSpec] = []

    def made(_: FakeHost, spec: ProcessSpec) -> Completed:
        asked.append(spec)
        return completed

    host.on_run(lambda command: command[0] == "made", made)
    assert ask_version(host, built) == version
    assert asked[0].command == ("made", "--version", str(built.path))


def test_a_server_that_cannot_be_asked_has_no_version(
    servers: list[Server], tmp_path: Path
) -> None:
    host = answering(maker="maker 1.0\n")
    assert prepared(host, servers, tmp_path / "builds", [])[0].version is None
