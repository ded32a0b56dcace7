"""CPUs: how the agent keeps idle ones awake, and where compilers run."""

import os
import struct
from pathlib import Path

import pytest

from deadheat.host.agent import kernel
from deadheat.host.agent.fingerprint import QOS_DEVICE, IdleCpus
from deadheat.host.local import LocalHost
from tests.host.support import eventually, log, python


def machine(
    folder: Path, driver: str | None, states: dict[str, int], virtual: bool = True
) -> IdleCpus:
    """Made-up files of the kernel."""
    for number, (name, latency_us) in enumerate(states.items()):
        state = folder / f"cpu0/cpuidle/state{number}"
        state.mkdir(parents=True)
        (state / "name").write_text(f"{name}\n")
        (state / "latency").write_text(f"{latency_us}\n")
    if driver is not None:
        (folder / "cpuidle").mkdir()
        (folder / "cpuidle/current_driver").write_text(f"{driver}\n")
    (folder / "qos").write_bytes(b"")
    return IdleCpus(virtual, folder, folder / "qos")


def asked_us(folder: Path) -> int | None:
    """What was written to the device of the kernel."""
    written = (folder / "qos").read_bytes()
    return None if not written else int(struct.unpack("i", written)[0])


STATES = {"POLL": 0, "C1": 2, "C6": 133}


@pytest.mark.parametrize(
    ("virtual", "states", "latency_us"),
    [(True, STATES, 0), (False, STATES, 2), (False, {"WFI": 1}, 1), (False, {"POLL": 0}, 0)],
)
def test_idle_cpus_poll_on_a_virtual_machine_and_sleep_lightly_elsewhere(
    tmp_path: Path, virtual: bool, states: dict[str, int], latency_us: int
) -> None:
    idle_cpus = machine(tmp_path, "some_idle", states, virtual)
    idle_cpus.keep_awake()
    assert asked_us(tmp_path) == latency_us
    assert idle_cpus.fingerprint() == {
        "driver": "some_idle",
        "wake_up_us": latency_us,
        "hindrance": None,
    }


@pytest.mark.parametrize(
    ("driver", "device", "hindrance"),
    [(None, "qos", "no driver"), ("none", "qos", "no driver"), ("x", "missing", "not permitted")],
)
def test_nothing_is_asked_without_a_driver_or_a_device(
    tmp_path: Path, driver: str | None, device: str, hindrance: str
) -> None:
    idle_cpus = machine(tmp_path, driver, STATES)
    idle_cpus.qos_device = tmp_path / device
    idle_cpus.keep_awake()
    assert asked_us(tmp_path) is None
    assert idle_cpus.fingerprint()["wake_up_us"] is None
    assert idle_cpus.fingerprint()["hindrance"] == hindrance


def test_cpus_that_share_a_core_do_not_poll(tmp_path: Path) -> None:
    idle_cpus = machine(tmp_path, "haltpoll", STATES)
    (tmp_path / "smt").mkdir()
    (tmp_path / "smt/active").write_text("1\n")
    idle_cpus.keep_awake()
    assert asked_us(tmp_path) is None
    assert idle_cpus.fingerprint()["hindrance"] == "shared cores"
    IdleCpus(False, tmp_path, tmp_path / "qos").keep_awake()
    assert asked_us(tmp_path) == STATES["C1"]


@pytest.mark.skipif(not os.access(QOS_DEVICE, os.W_OK), reason="needs access to PM QoS")
def test_the_kernel_holds_idle_cpus_to_what_the_fingerprint_says() -> None:
    with LocalHost() as host:
        assert host.fingerprint().cpu.idle.wake_up_us is None
        host.keep_awake()
        held_us = host.fingerprint().cpu.idle.wake_up_us
        if held_us is None:
            pytest.skip("this kernel has no driver for idle CPUs")
        with QOS_DEVICE.open("rb") as device:  # the strictest latency that any program asks for
            assert struct.unpack("i", device.read(4))[0] <= held_us


TASKS = {
    "7": {"comm": "C2 CompilerThre\n", "schedstat": "2000000000 3000000000 9\n"},
    "8": {"comm": "C1 CompilerThre\n", "schedstat": "500000000 0 2\n"},
    "9": {"comm": "http-nio-8080-e\n", "schedstat": "9000000000 0 2\n"},
}
STAT = "8 (C1 CompilerThre) S 1 1 1 0 -1 0 0 0 0 0 {user} {system} 0 0 20 0 1 0 5 0 0\n"


def pretend(monkeypatch: pytest.MonkeyPatch, tasks: dict[str, dict[str, str]]) -> None:
    def read(path: str | Path) -> str | None:
        _, _, _, _, task, name = str(path).split("/")
        return tasks[task].get(name)

    monkeypatch.setattr(kernel, "read_text", read)
    monkeypatch.setattr(kernel, "numbered", lambda _: [int(task) for task in tasks])


def test_bug_a_compiler_that_waits_for_a_cpu_was_taken_for_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spring Boot's 200 threads on one CPU: it was measured at 9,000/s, and reached 33,000."""
    pretend(monkeypatch, TASKS)
    assert kernel.compiler_busy_s([1]) == pytest.approx(2.0 + 3.0 + 0.5)
    pretend(monkeypatch, {"9": TASKS["9"]})
    assert kernel.compiler_busy_s([1]) is None


@pytest.mark.parametrize("waits", [{}, {"schedstat": "0 0 0\n"}], ids=["no file", "zeros"])
def test_a_kernel_that_counts_no_waits_gives_cpu_time(
    waits: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = kernel.TICKS_PER_S
    stat = STAT.format(user=2 * ticks, system=ticks)
    pretend(monkeypatch, {"8": {"comm": "C1 CompilerThre\n", "stat": stat, **waits}})
    assert kernel.compiler_busy_s([1]) == pytest.approx(3.0)


def test_only_compiler_threads_that_live_get_other_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, {"6": TASKS["7"], **TASKS})
    placed: list[tuple[int, set[int]]] = []

    def place(thread: int, cpus: set[int]) -> None:
        if thread == 6:
            raise ProcessLookupError
        placed.append((thread, cpus))

    monkeypatch.setattr(os, "sched_setaffinity", place)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    kernel.place_compiler([1], None)
    kernel.place_compiler([1], [0])
    assert placed == [(7, {0, 1}), (8, {0, 1}), (7, {0}), (8, {0})]


COMPILES = "import time; open('/proc/self/comm', 'w').write('C2 CompilerThread0'); time.sleep(60)"


def test_compiler_thread_of_a_real_process_moves(host: LocalHost, tmp_path: Path) -> None:
    allowed = host.fingerprint().cpu.allowed
    process = host.start(python(COMPILES, cpus=tuple(allowed[:1])), log(tmp_path))
    eventually(lambda: host.compiler_busy_s(process) is not None)
    ((pid, _),) = host.members(process)
    host.place_compiler(process, None)
    assert os.sched_getaffinity(pid) == set(allowed)
    host.place_compiler(process, allowed[:1])
    assert os.sched_getaffinity(pid) == set(allowed[:1])
