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
from tests.measure.made_evidence import made_world
from tests.servers.contenders import CATALOG

DATE = b"Date: Sat, 28 Nov 2026 12:00:00 GMT\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n" + DATE
GOOD = HEAD + b"\r\nHello, World!"
MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture
def host() -> FakeHost:
    return FakeHost()


@pytest.fixture
def world(host: FakeHost) -> World:
    """The load has no result, so the check `load` fails in each of these tests."""
    host.on_run(lambda _: True, lambda *_: Completed(1, "", "", 1.0, 0.0))
    return made_world(host)


def answer(request: bytes) -> bytes:
    """One answer per request of a packet."""
    answers = [MISSING if b"no-such-path" in each else GOOD for each in request.split(b"\r\n\r\n")]
    return b"".join(answers[:-1])


def checks(host: FakeHost, world: World, server: FakeServer) -> dict[str, Check]:
    folder = CATALOG / "servers" / "hello"
    manifest = load_server(folder, CATALOG / "recipes")
    built = Built(manifest, "key", folder, "", 0.0, {}, {}, cached=True)
    chosen = selection(manifest)
    start = chosen.start.model_copy(update={"command": ("hello", "{port}")})
    host.on_start(lambda command: command[0] == "hello", lambda *_: server)
    candidate = Candidate(replace(chosen, start=start), built, "1.0", None)
    return {check.rule: check for check in review(world, candidate, isolated=True)}


def test_a_good_server_passes(host: FakeHost, world: World) -> None:
    reviewed = checks(host, world, FakeServer(answer=answer))
    passed = {rule for rule, check in reviewed.items() if check.passed}
    assert passed >= {"lock file", "start", "no network at run time", "answer", "headers"}
    assert passed >= {
        "unknown path",
        "pipelining",
        "no other listener",
        "stop",
        "restart",
        "freeze",
    }


def test_a_server_without_a_date_needs_a_setting_that_has_it(host: FakeHost, world: World) -> None:
    def without_date(request: bytes) -> bytes:
        return answer(request).replace(DATE, b"")

    check = checks(host, world, FakeServer(answer=without_date))["headers"]
    assert not check.passed
    assert "expected a Date, got none" in check.reading


def test_every_path_answered_alike_fails(host: FakeHost, world: World) -> None:
    reviewed = checks(host, world, FakeServer(answer=lambda _: GOOD))
    assert reviewed["unknown path"].passed is False
    assert reviewed["unknown path"].reading == "status 200"


def test_one_answer_to_two_requests_fails(host: FakeHost, world: World) -> None:
    reviewed = checks(host, world, FakeServer(answer=lambda _: GOOD))
    assert reviewed["pipelining"].passed is False


def test_a_second_port_fails(host: FakeHost, world: World) -> None:
    """Regression: Passenger listens on a second port."""
    own = (Listener("127.0.0.1", port := host.free_port() + 1), Listener("0.0.0.0", 9999))
    listeners = Listeners(own, (), complete=True)
    reviewed = checks(host, world, FakeServer(answer=answer, listeners=listeners))
    assert reviewed["no other listener"].passed is False
    assert "0.0.0.0:9999" in reviewed["no other listener"].reading
    assert port


def test_another_backlog_than_declared_fails(host: FakeHost, world: World) -> None:
    class ShortHost(FakeHost):
        def listeners(self, process: str, port: int) -> Listeners:
            own = (Listener("127.0.0.1", port, backlog=5),)
            return Listeners(own, (), complete=True, backlog_max=4096)

    short = ShortHost()
    short.on_run(lambda _: True, lambda *_: Completed(1, "", "", 1.0, 0.0))
    its_world = replace(world, server_host=short, loads=(replace(world.load, host=short),))
    reviewed = checks(short, its_world, FakeServer(answer=answer))
    assert reviewed["backlog"].passed is False
    assert reviewed["backlog"].reading.startswith("it listens with a backlog of 5; ")


def test_the_port_of_a_jvm_is_no_second_listener(host: FakeHost, world: World) -> None:
    """Regression: a JVM's socket is IPv6, so every server on it failed."""

    class MappedHost(FakeHost):
        def listeners(self, process: str, port: int) -> Listeners:
            return Listeners((Listener("::ffff:127.0.0.1", port),), (), complete=True)

    mapped = MappedHost()
    mapped.on_run(lambda _: True, lambda *_: Completed(1, "", "", 1.0, 0.0))
    its_world = replace(world, server_host=mapped, loads=(replace(world.load, host=mapped),))
    reviewed = checks(mapped, its_world, FakeServer(answer=answer))
    assert reviewed["no other listener"].passed is True


def test_a_watchdog_fails(host: FakeHost, world: World) -> None:
    reviewed = checks(host, world, FakeServer(answer=answer, watchdog_s=60))
    assert reviewed["freeze"].passed is False


def test_a_server_that_has_to_be_killed_fails(host: FakeHost, world: World) -> None:
    reviewed = checks(host, world, FakeServer(answer=answer, deaf=True))
    assert reviewed["stop"].passed is False
    assert "killed" in reviewed["stop"].reading


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


def world_of(host: FakeHost) -> World:
    """The load has no result, which the check does not need."""
    host.on_run(lambda _: True, lambda *_: Completed(1, "", "", 1.0, 0.0))
    return made_world(host)


def candidate(name: str) -> Candidate:
    folder = CATALOG / "servers" / "hello"
    server = load_server(folder, CATALOG / "recipes")
    built = Built(server, "key", folder, "", 0.0, {}, {}, cached=True)
    chosen = selection(server)
    start = chosen.start.model_copy(update={"command": (name, "{port}")})
    return Candidate(replace(chosen, start=start), built, "1.0", None)


def serve(host: FakeHost, name: str, server: FakeServer) -> Candidate:
    host.on_start(lambda command: command[0] == name, lambda *_: server)
    return candidate(name)


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


class SlowAfterThaw(FakeHost):
    """Its servers answer after a second once they have been frozen."""

    def exchange(
        self, address: tuple[str, int], payload: bytes, silence_s: float, deadline_s: float
    ) -> Exchange:
        if silence_s < 1 and any(name == "thaw" for name, _ in self.calls):
            return Exchange(b"", closed=False)
        return super().exchange(address, payload, silence_s, deadline_s)


def test_a_server_that_needs_a_second_after_its_thaw_passes() -> None:
    """Regression: akka-http was asked once after its thaw, and had 0.3 s to answer."""
    host = SlowAfterThaw()
    slow = serve(host, "slow", FakeServer(answer=lambda _: GOOD))
    assert freeze_faults(world_of(host), [slow]) == [None]
