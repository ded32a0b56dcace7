"""Starting and stopping real servers, most of which misbehave on purpose."""

import itertools
import re
import socket
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.host import Exchange, Exited, HostError, Listeners, ProcessSpec
from deadheat.host.fake import FakeServer
from deadheat.host.local import LocalHost
from deadheat.measure import lifecycle
from deadheat.measure.contender import Contender
from deadheat.measure.lifecycle import StartFailed
from deadheat.measure.verify import verify
from deadheat.measure.world import World
from tests.measure.made_evidence import AnsweringHost, on_fake_host
from tests.servers.contenders import PYTHON, contender

NEVER_READY = (
    "never-ready",
    "never-answers",
    "wrong-body",
    "wrong-media-type",
    "not-found",
    "bad-gateway",
)
RIGHT = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
READY_S = 6.0  # long enough for a slow machine to get an answer out of those that give one


def failure(world: World, broken: Contender) -> StartFailed:
    with pytest.raises(StartFailed) as caught:
        lifecycle.start(world, broken)
    return caught.value


@pytest.fixture(scope="module")
def failures(world: World) -> Mapping[str, StartFailed]:
    """All of those that run and never get ready, at the same time."""
    contenders = [replace(contender(name), ready_s=READY_S) for name in NEVER_READY]
    own = replace(contender("not-found"), name="own", any_body=True, ready_s=READY_S)
    with ThreadPoolExecutor(len(contenders) + 1) as pool:
        caught = pool.map(lambda broken: failure(world, broken), [*contenders, own])
    return dict(zip([*NEVER_READY, own.name], caught, strict=True))


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("never-ready", "it never answered"),
        ("never-answers", "it never answered"),
        ("wrong-body", "expected the body 'Hello, World!', got 'Hello, World!\\n' (14 bytes)"),
        ("wrong-media-type", "expected media type text/plain, got application/json"),
        ("not-found", "expected status 200, got 404"),
        ("bad-gateway", "expected status 200, got 502"),
    ],
)
def test_an_open_port_is_not_ready(
    failures: Mapping[str, StartFailed], name: str, fault: str
) -> None:
    assert failures[name].reason == f"{name} was not ready within 6 s: {fault}"


def test_a_server_that_is_not_ready_leaves_its_last_words(
    failures: Mapping[str, StartFailed],
) -> None:
    assert failures["never-ready"].log_tail == "waiting for the database\n"
    assert str(failures["never-ready"]).endswith("\n  | waiting for the database")


def test_a_server_that_exits_at_start(world: World) -> None:
    failed = failure(world, contender("exits-at-start"))
    assert failed.reason == "exits-at-start ended before it was ready (exit 1)"
    assert failed.log_tail == "cannot read hello.conf\n"


def test_a_program_that_is_not_there(world: World) -> None:
    missing = replace(contender("hello"), command=("/nowhere/server", "{port}"))
    failed = failure(world, missing)
    assert failed.reason.startswith("hello cannot be started: ")
    assert "/nowhere/server" in failed.reason


class OnePort(LocalHost):
    """A host on which some process has taken the port in the meantime."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port

    def free_port(self) -> int:
        return self._port


@pytest.mark.parametrize("name", ["hello", "never-answers"])
def test_a_port_taken_by_another_process(world: World, tmp_path: Path, name: str) -> None:
    """Regression: what another server answered, and rightly, was taken for ours."""
    port = world.server_host.free_port()
    other = world.server_host.start(
        ProcessSpec(contender(name).command_at(port)), str(tmp_path / "x")
    )
    while not lifecycle.is_taken(world.server_host, port):
        assert world.server_host.alive(other) is None
    with OnePort(port) as host:
        failed = failure(replace(world, server_host=host), contender("hello"))
    world.server_host.stop(other, "SIGKILL", 0)
    assert failed.reason == f"hello: port {port} is taken by another process"


def test_a_server_that_goes_to_the_background(world: World) -> None:
    """Nothing of it is left when it is told."""
    code = "import os, signal; os.fork() and os._exit(0); signal.pause()"
    failed = failure(world, replace(contender("hello"), command=(*PYTHON, "-c", code)))
    assert failed.reason == (
        "hello ended before it was ready (exit 0): its command has to stay in the foreground"
    )


@pytest.mark.parametrize(
    ("successor", "cause", "starts"),
    [(None, "", 1), (RIGHT, ": port 20002 is taken by another process", 3)],
)
def test_a_server_that_ends_with_its_first_answer(
    world: World, successor: bytes | None, cause: str, starts: int
) -> None:
    """Regression: its own answer was taken for one of another process on its port."""

    def answers_once(port: int, *_: object) -> Exchange:
        for fake in host.processes.values():
            if not fake.listens_on(port):
                continue
            if fake.exited is None:
                fake.exited = Exited(7, 0.1, survivors=0, killed=False)
                return Exchange(RIGHT, closed=True)
            if successor is not None:
                return Exchange(successor, closed=True)
        raise HostError("refused")

    host = AnsweringHost(answers_once)
    dying = contender("dies-mid-trial", "at-once")
    failed = failure(on_fake_host(world, FakeServer(log="out of memory"), host), dying)
    assert failed.reason == f"dies-mid-trial:at-once ended before it was ready (exit 7){cause}"
    assert failed.log_tail == "out of memory"
    assert len(host.processes) == starts


def test_a_port_lost_to_another_process_is_given_up_for_another(world: World) -> None:
    """Regression: a race lost for a port took the server out of the run."""
    taken = Exchange(b"", closed=True)
    host = AnsweringHost(lambda port, *_: taken if port == 20000 else None)
    raced = on_fake_host(world, FakeServer(answer=lambda _: RIGHT), host)
    assert lifecycle.start(raced, contender("hello")).port == 20001


def test_a_server_that_takes_long_for_its_first_answer_is_ready_in_the_end(world: World) -> None:
    """Regression: no server was ready that needed more than 0.3 s to answer."""

    def slow(_: int, __: bytes, silence_s: float) -> Exchange | None:
        if not host.processes or silence_s >= 2:
            return None
        host.sleep(silence_s)
        return Exchange(b"", closed=False)

    host = AnsweringHost(slow)
    patient = on_fake_host(world, FakeServer(answer=lambda _: RIGHT), host)
    assert lifecycle.start(patient, contender("hello")).ready_s > 2


def test_a_wrong_answer_is_told_though_silence_came_last(world: World) -> None:
    """Regression: on a busy machine a server that answered wrongly never answered."""
    answers = itertools.chain([RIGHT.replace(b"200", b"502")], itertools.repeat(b""))
    server = FakeServer(answer=lambda _: next(answers))
    failed = failure(on_fake_host(world, server), contender("hello"))
    assert failed.reason == "hello was not ready within 30 s: expected status 200, got 502"


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (404, "choose a page that answers with status 200: --path /PAGE; or expect this status: "
         "--expect-status 404"),
        (401, "send the header that it expects, such as -H 'Authorization: Bearer TOKEN'"),
    ],
)  # fmt: skip
def test_an_own_server_that_means_its_4xx_is_given_up_at_once(
    world: World, status: int, hint: str
) -> None:
    answer = RIGHT.replace(b"200", b"%d" % status)
    fake = on_fake_host(world, FakeServer(answer=lambda _: answer))
    failed = failure(fake, replace(contender("hello"), any_body=True))
    assert failed.reason == f"hello is not measured: expected status 200, got {status}"
    assert failed.hint == hint
    assert fake.server_host.now_s() < 3


def test_a_url_whose_server_listens_on_ipv6_only_is_named(world: World, tmp_path: Path) -> None:
    host = world.server_host
    port = host.free_port()
    process = host.start(
        ProcessSpec(serving("greet", address="::1").command_at(port)), str(tmp_path / "log")
    )
    while not lifecycle.is_taken(host, port, "::1"):
        assert host.alive(process) is None
    url = f"http://127.0.0.1:{port}/a?b=1"
    failed = failure(world, Contender("own", "contender", (), any_body=True, url=url))
    host.stop(process, "SIGKILL", 0)
    assert failed.hint == f"it listens on IPv6 only: --url http://[::1]:{port}/a?b=1"


SERVE = """
import socket, sys, threading, time

def trickle(connection):
    connection.sendall(b"HTTP/1.1 200 OK\\r\\nX: ")
    while True:
        connection.sendall(b"x")
        time.sleep(0.05)

def garbage(connection):
    connection.sendall(b"SSH-2.0-made\\r\\n")

def greet(connection):
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhi")
    connection.close()

def huge(connection):
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 18446744073709551615\\r\\n\\r\\nhi")

_, address, port, what = sys.argv
family = socket.AF_INET6 if ":" in address else socket.AF_INET
with socket.create_server((address, int(port)), family=family) as listener:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=globals()[what], args=[connection], daemon=True).start()
"""


def serving(what: str, address: str = "127.0.0.1", port: str = "{port}") -> Contender:
    """The user's own server, which serves like this."""
    command = (*PYTHON, "-c", SERVE, address, port, what)
    return replace(contender("hello"), command=command, any_body=True, ready_s=3, name=what)


@pytest.fixture(scope="module")
def own_failures(world: World) -> Mapping[str, StartFailed]:
    """Own servers that run and never get ready, at the same time; and one on another port."""
    port = world.server_host.free_port()
    asked = {name: serving(name) for name in ("trickle", "huge", "garbage")}
    asked["another port"] = serving("greet", port=str(port))
    asked["ipv6"] = serving("greet", address="::1")
    with ThreadPoolExecutor(len(asked)) as pool:
        caught = pool.map(lambda broken: failure(world, broken), asked.values())
        return dict(zip(asked, caught, strict=True))


SPEAKS_HTTP = "deadheat measures HTTP/1.1; with {cert} and {key} in the command, over TLS"


@pytest.mark.parametrize(
    ("name", "reason", "hint"),
    [
        # Bug: single bytes hung a run, a huge length ended it, and garbage was no answer.
        ("trickle", r"no complete response: \d+ bytes and an unfinished head$", SPEAKS_HTTP),
        ("huge", r"no complete response: 59 bytes and an unfinished body$", SPEAKS_HTTP),
        ("garbage", r"it.* is not HTTP \(status_line\): 'SSH-2\.0-made\\r\\n'$", SPEAKS_HTTP),
        (
            "another port",
            r"it listens on 127\.0\.0\.1:\d+, not on port ",
            "pass it the port: {port} in the command or in env stands for it",
        ),
        ("ipv6", r"it listens on \[::1\]:", "let it listen on 127.0.0.1 or 0.0.0.0"),
    ],
)
def test_says_why_an_own_server_is_not_ready(
    own_failures: Mapping[str, StartFailed], name: str, reason: str, hint: str
) -> None:
    failed = own_failures[name]
    assert re.search(rf"^\w+ was not ready within 3 s: .*{reason}", failed.reason)
    assert failed.hint == hint


class Beside(OnePort):
    """A host on which another server takes the port when ours starts."""

    def __init__(self, port: int, other: Callable[[], str]) -> None:
        super().__init__(port)
        self._other = other

    def start(self, spec: ProcessSpec, log_path: str) -> str:
        self._other()
        return super().start(spec, log_path)


def test_bug_the_server_of_another_process_was_measured(world: World, tmp_path: Path) -> None:
    """A command that only sleeps was ranked at the rate of whoever answered on its port."""
    outside = world.server_host
    port = outside.free_port()

    def start_other() -> str:
        spec = ProcessSpec(serving("greet").command_at(port))
        process = outside.start(spec, str(tmp_path / "other"))
        while not lifecycle.is_taken(outside, port):
            assert outside.alive(process) is None
        others.append(process)
        return process

    others: list[str] = []
    sleeping = (*PYTHON, "-c", "import signal; signal.pause()", "{port}")
    with Beside(port, start_other) as host:
        asleep = replace(serving("greet"), command=sleeping)
        failed = failure(replace(world, server_host=host), asleep)
    outside.stop(others[0], "SIGKILL", 0)
    assert failed.reason.startswith("greet is not measured: another process answers: python")
    assert f"listens on port {port}, and no process" in failed.reason
    assert failed.hint is not None
    assert "--url" in failed.hint


def test_a_machine_that_hides_sockets_does_not_refuse_a_server(world: World) -> None:
    hidden = Listeners([], [], complete=False)
    server = FakeServer(answer=lambda _: RIGHT, listeners=hidden)
    instance = lifecycle.start(on_fake_host(world, server), contender("hello"))
    assert instance.listens_itself is None


def test_a_good_server_starts_answers_and_stops(world: World) -> None:
    instance = lifecycle.start(world, contender("hello"))
    assert instance.url == f"http://127.0.0.1:{instance.port}/"
    assert instance.listens_itself is True
    behavior = verify(world.server_host, instance.address)
    assert behavior.fault is None
    assert (behavior.status, behavior.framing, behavior.keep_alive) == (200, "content-length", True)
    assert (behavior.close_honored, behavior.http_1_0, behavior.pipelined) == (True, "closes", 2)
    assert (behavior.head, behavior.unknown_path) == ("refuses", 404)
    ended = lifecycle.stop(world, instance)
    assert (ended.how, ended.killed, ended.survivors) == ("signal 15", False, 0)


def test_a_frozen_server_is_stopped_too(world: World) -> None:
    instance = lifecycle.start(world, contender("hello"))
    world.server_host.freeze(instance.process)
    assert not lifecycle.stop(world, instance).killed


def test_nothing_outlives_a_stop(world: World) -> None:
    instance = lifecycle.start(world, contender("outlives-sigterm"))
    assert world.server_host.usage(instance.process).processes == 2
    ended = lifecycle.stop(world, instance)
    assert (ended.how, ended.killed) == ("killed past its deadline", True)
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(instance.address)


def test_logs_of_one_contender_do_not_overwrite_each_other(world: World) -> None:
    first = lifecycle.start(world, contender("hello"))
    second = lifecycle.start(world, contender("hello"))
    try:
        assert Path(first.log_path) != Path(second.log_path)
    finally:
        lifecycle.stop(world, first)
        lifecycle.stop(world, second)


def test_the_users_own_server_may_say_anything(
    world: World, failures: Mapping[str, StartFailed]
) -> None:
    """But not that it has nothing to say."""
    own = replace(contender("wrong-body"), any_body=True, ready_s=30)
    lifecycle.stop(world, lifecycle.start(world, own))
    assert failures["own"].reason.endswith(": expected status 200, got 404")
