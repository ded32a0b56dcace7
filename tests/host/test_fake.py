import pytest

from deadheat.host import Completed, Exchange, HostError, ProcessSpec
from deadheat.host.fake import FakeHost, FakeServer


@pytest.fixture
def host() -> FakeHost:
    fake = FakeHost()
    server = FakeServer(answer=bytes.upper, ready_after_s=1, dies_after_s=50, exit_code=3, log="up")
    fake.on_run(lambda command: command[0] == "wrk", lambda *_: Completed(0, "out", "", 5, 1))
    fake.on_start(lambda command: command[0] == "server", lambda *_: server)
    return fake


def test_a_run_advances_the_virtual_clock(host: FakeHost) -> None:
    assert host.run(ProcessSpec(["wrk"]), 60).stdout == "out"
    assert host.now_s() == 5
    assert host.run(ProcessSpec(["wrk"]), 2).exit_code is None
    assert host.now_s() == 7


def test_the_last_matching_rule_applies_and_without_one_nothing_is_installed(
    host: FakeHost,
) -> None:
    with pytest.raises(HostError, match="no such program: ab"):
        host.run(ProcessSpec(["ab"]), 1)
    host.on_run(lambda _: True, lambda *_: Completed(1, "", "", 0, 0))
    assert host.run(ProcessSpec(["wrk"]), 60).exit_code == 1


def test_a_server_becomes_ready_answers_freezes_and_dies(host: FakeHost) -> None:
    port = host.free_port()
    address = ("127.0.0.1", port)
    process = host.start(ProcessSpec(["server", f"127.0.0.1:{port}"]), "log")
    with pytest.raises(HostError, match=f"no connection to 127.0.0.1:{port}"):
        host.exchange(address, b"get", 1, 9)
    host.sleep(1)
    assert host.exchange(address, b"get", 1, 9) == Exchange(b"GET", closed=True)
    host.freeze(process)
    assert host.exchange(address, b"get", 2, 9) == Exchange(b"", closed=False)
    host.thaw(process)
    assert host.alive(process) is None
    host.sleep(60)
    exited = host.alive(process)
    assert exited is not None
    assert (exited.exit_code, exited.elapsed_s) == (3, 50)
    assert [name for name, _ in host.calls] == ["start", "freeze", "thaw"]
    assert host.read_tail("log", 100) == "up"


def test_a_deaf_server_is_killed_at_the_deadline(host: FakeHost) -> None:
    host.on_start(lambda _: True, lambda *_: FakeServer(deaf=True))
    exited = host.stop(host.start(ProcessSpec(["server"]), "log"), "SIGTERM", 10)
    assert (exited.exit_code, exited.killed, host.now_s()) == (None, True, 10)


def test_a_watch_samples_at_virtual_times(host: FakeHost) -> None:
    process = host.start(ProcessSpec(["server"]), "log")
    watch = host.watch([process], interval_s=1)
    host.sleep(2.5)
    samples = host.unwatch(watch)
    assert [sample.at_s for sample in samples] == [0, 1, 2, 2.5]
    assert process in samples[-1].usage
    assert samples[-1].cpu_khz == {}
