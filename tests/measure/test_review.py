"""The strict review and the freeze check, on a virtual clock."""

import datetime
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.build.builder import Built
from deadheat.build.prepare import Candidate
from deadheat.catalog import load_catalog, load_server, selection
from deadheat.catalog.manifest import BY_STRINGS, ended_support
from deadheat.host import Completed, Exchange, Listener, Listeners
from deadheat.host.fake import FakeHost, FakeServer
from deadheat.measure.review import FREEZE_S, Check, folder_checks, freeze_faults, review
from deadheat.measure.world import World
from deadheat.report.formats.inspections import READING_MAX, review_markdown
from tests.measure.made_evidence import AnsweringHost, made_world
from tests.servers.contenders import CATALOG

DATE = b"Date: Sat, 28 Nov 2026 12:00:00 GMT\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n" + DATE
GOOD = HEAD + b"\r\nHello, World!"
PORT = 20_000  # the first one of a fake host
MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


def world_of(host: FakeHost) -> World:
    """The load has no result, so the check `load` fails in each of these tests."""
    host.on_run(lambda _: True, lambda *_: Completed(1, "", "", 1.0, 0.0))
    return made_world(host)


@pytest.fixture
def world(host: FakeHost) -> World:
    return world_of(host)


def serve(host: FakeHost, name: str, server: FakeServer) -> Candidate:
    host.on_start(lambda command: command[0] == name, lambda *_: server)
    folder = CATALOG / "servers" / "hello"
    hello = load_server(folder, CATALOG / "recipes")
    built = Built(hello, "key", folder, "", 0.0, {}, {}, cached=True)
    chosen = selection(hello)
    start = chosen.start.model_copy(update={"command": (name, "{port}")})
    return Candidate(replace(chosen, start=start), built, "1.0", None)


def answer(request: bytes) -> bytes:
    """One answer per request of a packet."""
    answers = [MISSING if b"no-such-path" in each else GOOD for each in request.split(b"\r\n\r\n")]
    return b"".join(answers[:-1])


def without_date(request: bytes) -> bytes:
    return answer(request).replace(DATE, b"")


def checks(host: FakeHost, world: World, server: FakeServer) -> dict[str, Check]:
    reviewed = review(world, serve(host, "hello", server), isolated=True)
    return {check.rule: check for check in reviewed}


def test_a_good_server_passes(host: FakeHost, world: World) -> None:
    reviewed = checks(host, world, FakeServer(answer=answer))
    passed = {rule for rule, check in reviewed.items() if check.passed}
    assert passed >= {
        *("lock file", "start", "no network at run time", "answer", "headers", "unknown path"),
        *("pipelining", "no other listener", "stop", "restart", "freeze"),
    }


@pytest.mark.parametrize(
    ("server", "rule", "reading"),
    [
        (FakeServer(answer=without_date), "headers", "expected a Date, got none"),
        (FakeServer(answer=lambda _: GOOD), "unknown path", "status 200"),
        (FakeServer(answer=lambda _: GOOD), "pipelining", "1 of 2 requests answered"),
        (FakeServer(answer=answer, watchdog_s=60), "freeze", "1 of its 2 processes ended"),
        (FakeServer(answer=answer, deaf=True), "stop", "killed"),
    ],
)
def test_a_server_that_breaks_a_rule_fails_its_check(
    host: FakeHost, world: World, server: FakeServer, rule: str, reading: str
) -> None:
    check = checks(host, world, server)[rule]
    assert check.passed is False
    assert reading in check.reading


@pytest.mark.parametrize(
    ("listener", "also", "rule", "passed", "reading"),
    [
        # Regression: Passenger listens on a second port.
        (
            Listener("127.0.0.1", PORT),
            (Listener("0.0.0.0", 9999),),
            *("no other listener", False, "0.0.0.0:9999"),
        ),
        # Regression: a JVM's socket is IPv6, so every server on it failed.
        (Listener("::ffff:127.0.0.1", PORT), (), "no other listener", True, ""),
        (
            Listener("127.0.0.1", PORT, backlog=5),
            (),
            *("backlog", False, "it listens with a backlog of 5; "),
        ),
    ],
)
def test_reads_on_what_a_server_listens(
    host: FakeHost,
    world: World,
    listener: Listener,
    also: tuple[Listener, ...],
    rule: str,
    passed: bool,
    reading: str,
) -> None:
    listeners = Listeners((listener, *also), (), complete=True, backlog_max=4096)
    check = checks(host, world, FakeServer(answer=answer, listeners=listeners))[rule]
    assert check.passed is passed
    assert reading in check.reading


def test_a_server_that_does_not_start_has_no_further_checks(host: FakeHost, world: World) -> None:
    reviewed = checks(host, world, FakeServer(answer=answer, dies_after_s=0.0, exit_code=1))
    assert [*reviewed] == ["socket options", "JIT, GC and heap", "lock file", "start"]
    assert reviewed["start"].passed is False


def test_the_report_is_a_table_for_a_comment() -> None:
    failed = Check("HEAD", False, "expected | no\nbody " + "x" * READING_MAX)
    report = review_markdown("go-gin", "1.12.0", "Debian", [Check("stop", True, "exit 0"), failed])
    assert report.startswith("### `deadheat verify --strict go-gin`: 1 failed\n")
    (row,) = [line for line in report.splitlines() if line.startswith("| HEAD")]
    assert row.startswith(r"| HEAD | ❌ FAIL | expected \| no body xxx")
    assert len(row) < READING_MAX + 50


def test_the_report_ends_with_the_log_of_a_failed_build() -> None:
    report = review_markdown("go-gin", None, "Debian", [Check("build", False, "ended")], "```oops")
    assert "'''oops\n```\n\n</details>" in report


@pytest.mark.parametrize(
    ("file", "text", "rule"),
    [
        ("Cargo.toml", "[profile.release]\nlto = true\n", "release profile"),
        ("main.rs", "stream.set_nodelay(true)?;\n", "socket options"),
        ("Hello.java", "socket.setTcpNoDelay(true);\n", "socket options"),
        (
            "jars.lock",
            "ab  lib/netty-transport-native-epoll-4.2-linux-x86_64.jar",
            "native transport",
        ),
        ("page.js", 'const ESCAPES = { "<": "&lt;" };\n', "template"),
    ],
)
def test_what_a_folder_decides_for_itself_fails(
    tmp_path: Path, file: str, text: str, rule: str
) -> None:
    server = load_server(CATALOG / "servers" / "hello", CATALOG / "recipes")
    (tmp_path / file).write_text(text)
    answers = {"workloads": ("hello", "page"), "template_engine": "EJS"}
    manifest = server.manifest.model_copy(update=answers)
    changed = replace(server, folder=tmp_path, manifest=manifest)
    failed = [check.rule for check in folder_checks(changed, None) if check.passed is False]
    assert failed == [rule]
    if rule == "template":
        named = manifest.model_copy(update={"template_engine": BY_STRINGS})
        assert all(c.passed for c in folder_checks(replace(changed, manifest=named), None))
        unnamed = manifest.model_copy(update={"template_engine": None})
        failed = [
            c.rule for c in folder_checks(replace(changed, manifest=unnamed), None) if not c.passed
        ]
        assert failed == ["template"]


@pytest.mark.parametrize("flag", ["--yjit", "-Xmx1g", "-XX:+UseZGC", "--max-old-space-size=99"])
def test_a_flag_for_the_runtime_in_the_start_command_fails(flag: str) -> None:
    server = load_server(CATALOG / "servers" / "hello", CATALOG / "recipes")
    start = server.manifest.start.model_copy(update={"command": ("ruby", flag, "a.rb")})
    changed = replace(server, manifest=server.manifest.model_copy(update={"start": start}))
    failed = [check.rule for check in folder_checks(changed, None) if check.passed is False]
    assert failed == ["JIT, GC and heap"]


def test_every_shipped_folder_keeps_the_decisions() -> None:
    catalog = load_catalog(Path(__file__).parents[2])
    failed = [
        (server.name, check.rule)
        for server in catalog.all_servers.values()
        for check in folder_checks(server, None)
        if check.passed is False
    ]
    assert not failed


@pytest.mark.parametrize(
    ("version", "at", "ended"),
    [
        ("6.1.7 + 5.6", "2026-11-27", ["6.1"]),
        ("6.1.7 + 5.6", "2024-10-01", []),
        ("8.0.1 + 6.1.2", "2026-11-27", []),
        ("6.10.0", "2026-11-27", []),
        ("6.5 on PyPy 7.3.11", "2026-11-27", ["PyPy 7.3"]),
        (None, "2026-11-27", []),
    ],
)
def test_a_line_has_ended_after_its_last_day(
    version: str | None, at: str, ended: list[str]
) -> None:
    support = {"6.1": "2024-10-01", "PyPy 7.3": "2025-01-01", "8": "2030-01-01"}
    assert [*ended_support(support, version, datetime.date.fromisoformat(at))] == ended


def test_all_servers_are_frozen_at_the_same_time(host: FakeHost, world: World) -> None:
    candidates = [serve(host, name, FakeServer(answer=lambda _: GOOD)) for name in "abc"]
    assert freeze_faults(world, candidates) == [None, None, None]
    assert FREEZE_S < host.now_s() < 2 * FREEZE_S
    names = [name for name, _ in host.calls if name != "start"]
    assert names == ["freeze"] * 3 + ["thaw", "run"] * 3 + ["thaw", "stop"] * 3


def test_a_watchdog_that_replaces_a_frozen_worker_is_a_fault(host: FakeHost, world: World) -> None:
    """Regression: gunicorn replaced the workers of python-falcon in races."""
    watched = serve(host, "watched", FakeServer(answer=lambda _: GOOD, watchdog_s=60))
    patient = serve(host, "patient", FakeServer(answer=lambda _: GOOD, watchdog_s=86_400))
    assert freeze_faults(world, [watched, patient]) == [
        "after 90 s frozen: 1 of its 2 processes ended, 1 began",
        None,
    ]


def test_a_server_that_does_not_start_keeps_no_other_from_the_check(
    host: FakeHost, world: World
) -> None:
    dead = serve(host, "dead", FakeServer(dies_after_s=0, exit_code=1))
    good = serve(host, "good", FakeServer(answer=lambda _: GOOD))
    fault, none = freeze_faults(world, [dead, good])
    assert fault is not None
    assert "ended before it was ready" in fault
    assert none is None


def test_a_server_that_dies_while_frozen_is_a_fault(host: FakeHost, world: World) -> None:
    mortal = serve(host, "mortal", FakeServer(answer=lambda _: GOOD, dies_after_s=60))
    assert freeze_faults(world, [mortal]) == [
        "after 90 s frozen: no readable HTTP response to GET /"
    ]


def test_a_server_that_needs_a_second_after_its_thaw_passes() -> None:
    """Regression: akka-http was asked once after its thaw, and had 0.3 s to answer."""

    def slow_after_thaw(_: int, __: bytes, silence_s: float) -> Exchange | None:
        is_thawed = any(name == "thaw" for name, _ in asked.calls)
        return Exchange(b"", closed=False) if is_thawed and silence_s < 1 else None

    asked = AnsweringHost(slow_after_thaw)
    slow = serve(asked, "slow", FakeServer(answer=lambda _: GOOD))
    assert freeze_faults(world_of(asked), [slow]) == [None]
