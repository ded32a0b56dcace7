"""How the agent keeps idle CPUs awake."""

import os
import struct
from pathlib import Path

import pytest

from deadheat.host.agent.fingerprint import QOS_DEVICE, IdleCpus
from deadheat.host.local import LocalHost


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


@pytest.mark.parametrize("driver", [None, "none"])
def test_nothing_is_asked_where_the_kernel_has_no_driver(
    tmp_path: Path, driver: str | None
) -> None:
    idle_cpus = machine(tmp_path, driver, STATES)
    idle_cpus.keep_awake()
    assert asked_us(tmp_path) is None
    assert idle_cpus.fingerprint() == {"driver": None, "wake_up_us": None, "hindrance": "no driver"}


def test_cpus_that_share_a_core_do_not_poll(tmp_path: Path) -> None:
    idle_cpus = machine(tmp_path, "haltpoll", STATES)
    (tmp_path / "smt").mkdir()
    (tmp_path / "smt/active").write_text("1\n")
    idle_cpus.keep_awake()
    assert asked_us(tmp_path) is None
    assert idle_cpus.fingerprint()["hindrance"] == "shared cores"
    IdleCpus(False, tmp_path, tmp_path / "qos").keep_awake()
    assert asked_us(tmp_path) == STATES["C1"]


def test_without_the_device_idle_cpus_sleep_as_before(tmp_path: Path) -> None:
    idle_cpus = machine(tmp_path, "haltpoll", STATES)
    (tmp_path / "qos").unlink()
    idle_cpus.keep_awake()
    assert idle_cpus.fingerprint() == {
        "driver": "haltpoll",
        "wake_up_us": None,
        "hindrance": "not permitted",
    }


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
