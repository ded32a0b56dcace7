from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.build.builder import Builder
from deadheat.build.prepare import Candidate, ask_version, prepare
from deadheat.catalog import Server, selection
from deadheat.catalog.manifest import LanguageRuntime
from deadheat.events import Board, Event, Progress
from deadheat.host import Completed, ProcessSpec
from deadheat.host.fake import FakeHost
from tests.build.made import made_server


def answering(**stdout: str) -> FakeHost:
    """A host with these programs and their output."""
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
def events() -> list[Progress | Event | Board]:
    return []


def prepared(
    host: FakeHost, servers: list[Server], folder: Path, events: list[Progress | Event | Board]
) -> list[Candidate]:
    selections = [selection(server, workers=workers) for server in servers for workers in (1, 2)]
    return prepare(selections, host, Builder(host, folder), events.append)


def troubles(events: list[Progress | Event | Board]) -> list[str]:
    return [event.what for event in events if isinstance(event, Event) and event.trouble]


def test_builds_each_server_once_and_reads_its_version(
    servers: list[Server], tmp_path: Path, events: list[Progress | Event | Board]
) -> None:
    host = answering(maker="maker 1.0\n", made="made 2.3.4-rc1 of today\n")
    candidates = prepared(host, servers, tmp_path / "builds", events)
    assert [c.selection.name for c in candidates] == ["one", "one:w2", "two", "two:w2"]
    assert {candidate.version for candidate in candidates} == {"2.3.4-rc1"}
    assert [c.built is not None and c.built.cached for c in candidates] == [False, True] * 2
    assert [candidate.fault for candidate in candidates] == [None] * 4
    assert troubles(events) == []


def test_reports_missing_tools_once_with_install_command(
    servers: list[Server], tmp_path: Path, events: list[Progress | Event | Board]
) -> None:
    candidates = prepared(FakeHost(), servers, tmp_path / "builds", events)
    assert {candidate.fault for candidate in candidates} == {
        "one is left out: maker is not installed",
        "two is left out: maker is not installed",
    }
    assert troubles(events) == [
        "one is left out: maker is not installed\n  hint: install it: get maker",
        "two is left out: maker is not installed\n  hint: install it: get maker",
    ]


def test_failed_build_leaves_out_only_its_server(
    servers: list[Server], tmp_path: Path, events: list[Progress | Event | Board]
) -> None:
    host = answering(maker="maker 1.0\n", made="2.3\n")
    host.on_run(
        lambda command: "one" in "".join(command), lambda *_: Completed(1, "", "no\n", 1, 1)
    )
    candidates = prepared(host, servers, tmp_path / "builds", events)
    assert [candidate.built is not None for candidate in candidates] == [False, False, True, True]
    (trouble,) = troubles(events)
    assert "ended with 1" in trouble
    assert "the complete log is in " in trouble


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
def test_reads_version_from_the_built_server(
    servers: list[Server], tmp_path: Path, completed: Completed, version: str | None
) -> None:
    """Regression: a path in an error message was taken for a version."""
    host = answering(maker="maker 1.0\n")
    (candidate, *_) = prepared(host, servers, tmp_path / "builds", [])
    built = candidate.built
    assert built is not None
    assert candidate.version is None, "there is no such program yet"
    calls: list[ProcessSpec] = []

    def made(_: FakeHost, spec: ProcessSpec) -> Completed:
        calls.append(spec)
        return completed

    host.on_run(lambda command: command[0] == "made", made)
    assert ask_version(host, built) == version
    assert calls[0].command == ("made", "--version", str(built.path))


@pytest.mark.parametrize(
    ("runtime_says", "version"),
    [
        ("vm 25.0.2\n", "1.2 on VM 25.0.2"),
        ("vm\n", "1.2 on VM unknown"),
        ("vm 1.2\n", "1.2"),  # the runtime's own server
    ],
)
def test_the_version_of_a_runtime_is_shown(
    servers: list[Server], tmp_path: Path, runtime_says: str, version: str
) -> None:
    runtime = LanguageRuntime(name="VM", command=("vm", "{build}"))
    host = answering(maker="maker 1.0\n", made="made 1.2\n", vm=runtime_says)
    (built, *_) = [c.built for c in prepared(host, servers, tmp_path / "builds", [])]
    assert built is not None
    on_runtime = replace(built, server=replace(built.server, runtime=runtime))
    assert ask_version(host, on_runtime) == version
