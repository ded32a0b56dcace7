"""Builds before a run: what is missing, and several at a time."""

import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.build.builder import Builder
from deadheat.build.prepare import Candidate, ask_version, build_ahead, jobs_that_fit, prepare
from deadheat.catalog import Server, selection
from deadheat.catalog.manifest import LanguageRuntime
from deadheat.events import Board, Event, Progress, silent
from deadheat.host import Completed, ProcessSpec
from deadheat.host.fake import FakeHost
from tests.build.made import made_server

Events = list[Progress | Event | Board]


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
def events() -> Events:
    return []


def prepared(
    host: FakeHost, servers: list[Server], folder: Path, events: Events
) -> list[Candidate]:
    selections = [selection(server, workers=workers) for server in servers for workers in (1, 2)]
    return prepare(selections, host, Builder(host, folder), events.append)


def troubles(events: Events) -> list[str]:
    return [event.what for event in events if isinstance(event, Event) and event.trouble]


def test_builds_each_server_once_and_reads_its_version(
    servers: list[Server], tmp_path: Path, events: Events
) -> None:
    host = answering(maker="maker 1.0\n", made="made 2.3.4-rc1 of today\n")
    candidates = prepared(host, servers, tmp_path / "builds", events)
    assert [c.selection.name for c in candidates] == ["one", "one:w2", "two", "two:w2"]
    assert {candidate.version for candidate in candidates} == {"2.3.4-rc1"}
    assert [c.built is not None and c.built.cached for c in candidates] == [False, True] * 2
    assert [candidate.fault for candidate in candidates] == [None] * 4
    assert troubles(events) == []


def test_reports_missing_tools_once_with_install_command(
    servers: list[Server], tmp_path: Path, events: Events
) -> None:
    candidates = prepared(FakeHost(), servers, tmp_path / "builds", events)
    faults = [f"{name} is left out: maker is not installed" for name in ("one", "two")]
    assert {candidate.fault for candidate in candidates} == {*faults}
    assert troubles(events) == [f"{fault}\n  hint: install it: get maker" for fault in faults]


def test_failed_build_leaves_out_only_its_server(
    servers: list[Server], tmp_path: Path, events: Events
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


NAMES = ("a", "b", "c", "d")
FINE = Completed(0, "made 1.0\n", "", 1, 1)


@pytest.fixture
def four_servers(tmp_path: Path) -> list[Server]:
    return [made_server(tmp_path, name) for name in NAMES]


def host_where(first_step: Callable[[str], Completed]) -> FakeHost:
    """A host on which the first build step calls `first_step` with the server's name."""

    def run(_: FakeHost, spec: ProcessSpec) -> Completed:
        if spec.command[1] == "first":
            return first_step(Path(spec.cwd or "").parent.name)
        return FINE

    host = FakeHost()
    host.on_run(lambda _: True, run)
    return host


def built(
    servers: list[Server], folder: Path, host: FakeHost, jobs: int, events: Events | None = None
) -> list[Candidate]:
    listen = silent if events is None else events.append
    return build_ahead(servers, host, Builder(host, folder / "builds"), listen, jobs)


def test_builds_run_in_parallel(four_servers: list[Server], tmp_path: Path, events: Events) -> None:
    both = threading.Barrier(2, timeout=30)  # breaks if builds run one after the other

    def meet(_: str) -> Completed:
        both.wait()
        return FINE

    candidates = built(four_servers, tmp_path, host_where(meet), 2, events)
    assert all(candidate.built for candidate in candidates)
    assert {1, 2} == {len(event.what.split(",")) for event in events if isinstance(event, Progress)}


def test_servers_of_one_recipe_are_built_apart(
    four_servers: list[Server], tmp_path: Path, events: Events
) -> None:
    order: list[str] = []

    def note(name: str) -> Completed:
        order.append(name)
        return FINE

    of_recipes = [
        replace(server, manifest=server.manifest.model_copy(update={"recipe": recipe}))
        for server, recipe in zip(four_servers, ("go", "go", "rust", None), strict=True)
    ]
    candidates = built(of_recipes, tmp_path, host_where(note), 1, events)
    assert order == ["a", "c", "d", "b"]
    assert [event for event in events if isinstance(event, Progress)] == [
        Progress(f"building {name}", done, 4) for done, name in enumerate(order)
    ]
    assert [candidate.selection.name for candidate in candidates] == list(NAMES)


def test_candidates_keep_the_order_of_servers(four_servers: list[Server], tmp_path: Path) -> None:
    last_is_done = threading.Event()

    def finish_backwards(name: str) -> Completed:
        if name == "d":
            last_is_done.set()
        else:
            assert last_is_done.wait(30)
        return FINE

    candidates = built(four_servers, tmp_path, host_where(finish_backwards), 4)
    assert [candidate.selection.name for candidate in candidates] == list(NAMES)
    assert all(candidate.built for candidate in candidates)


def test_reports_failure_and_builds_the_others(
    four_servers: list[Server], tmp_path: Path, events: Events
) -> None:
    def fail_two(name: str) -> Completed:
        return Completed(1, "", f"no {name}\n", 1, 1) if name in "ac" else FINE

    candidates = built(four_servers, tmp_path, host_where(fail_two), 2, events)
    assert [candidate.built is not None for candidate in candidates] == [False, True, False, True]
    assert sorted(what.split(":")[0] for what in troubles(events)) == ["a", "c"]


def test_interrupt_starts_no_further_build_and_reports_no_failure(
    four_servers: list[Server], tmp_path: Path, events: Events
) -> None:
    main_thread = threading.get_ident()
    begun: list[str] = []
    both = threading.Barrier(2, timeout=30)
    gone = threading.Event()

    def go_with_the_host(name: str) -> Completed:
        begun.append(name)
        if both.wait() == 0:
            signal.pthread_kill(main_thread, signal.SIGINT)
        assert gone.wait(30)
        return Completed(1, "", "the agent is gone\n", 1, 1)

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        built(four_servers, tmp_path, host_where(go_with_the_host), 2, events)
    gone.set()
    for thread in set(threading.enumerate()) - before:
        thread.join()
    assert sorted(begun) == ["a", "b"]
    assert not any(isinstance(event, Event) for event in events)


@pytest.mark.parametrize(
    ("cpus", "available_gib", "jobs"), [(2, 8, 2), (8, 8, 4), (8, 1, 1), (1, 64, 1)]
)
def test_jobs_are_limited_by_cpus_and_memory(
    monkeypatch: pytest.MonkeyPatch, cpus: int, available_gib: int, jobs: int
) -> None:
    host = FakeHost()
    sample = host.sample(0.0, ())
    fingerprint = host.fingerprint()
    cpu = fingerprint.cpu.model_copy(update={"allowed": tuple(range(cpus))})
    known = fingerprint.model_copy(update={"cpu": cpu})
    monkeypatch.setattr(host, "fingerprint", lambda: known)
    monkeypatch.setattr(
        host, "sample", lambda *_: replace(sample, memory_available_bytes=available_gib << 30)
    )
    assert jobs_that_fit(host) == jobs
