"""Findings of the doctor on made-up machines; tests/golden has those of a good and a bad one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from deadheat.host import Sample, fake
from deadheat.host.doctor import Finding, Machine, examine
from deadheat.host.fingerprint import Fingerprint

CPU: dict[str, Any] = {
    "model": "Some CPU",
    "logical": 4,
    "allowed": [0, 1, 2, 3],
    "smt_active": 0,
    "siblings": {"0": "0", "1": "1", "2": "2", "3": "3"},
    "governors": ["performance"],
    "turbo": False,
    "virtual_machine": False,
    "packages": 1,
    "mitigations": {},
    "idle": {"driver": "intel_idle", "wake_up_us": None, "hindrance": None},
}
SHARED_CORES = {"driver": "haltpoll", "wake_up_us": None, "hindrance": "shared cores"}
NOT_PERMITTED = {"driver": "haltpoll", "wake_up_us": None, "hindrance": "not permitted"}
SYSCTL = {
    "net.core.somaxconn": "4096",
    "net.ipv4.tcp_max_syn_backlog": "4096",
    "net.ipv4.ip_local_port_range": "12000\t65535",
    "net.ipv4.tcp_tw_reuse": "2",
    "kernel.io_uring_disabled": "0",
}
FINGERPRINT: dict[str, Any] = {
    **fake.FINGERPRINT.to_json(),
    "cpu": CPU,
    "memory_total_bytes": 16 << 30,
    "clocksource": "tsc",
    "open_files_soft": 1024,
    "open_files_hard": 1 << 20,
    "sysctl": SYSCTL,
    "containment": "cgroup-v2",
    "memory_source": "cgroup",
    "load_average": [0.1, 0.1, 0.1],
}
SWAPS = "Filename  Type  Size  Used  Priority\n"


def sample(at_s: float, busy: int = 0, steal: int = 0, available: int = 8 << 30) -> Sample:
    """Four CPUs, each with this many busy and stolen ticks."""
    ticks = (busy, 0, 0, 0, 0, 0, 0, steal)
    return Sample(at_s, dict.fromkeys(range(4), ticks), {}, {}, {}, None, available)


def machine(
    cpu: Mapping[str, Any] | None = None,
    sysctl: Mapping[str, str | None] | None = None,
    **fingerprint: Any,
) -> Machine:
    """A machine without problems, except for the given readings."""
    base = FINGERPRINT | {"cpu": CPU | dict(cpu or {}), "sysctl": SYSCTL | dict(sysctl or {})}
    made = Fingerprint.model_validate(base | fingerprint)
    return Machine(made, (sample(0.0), sample(1.0)), (), SWAPS)


def finding_on(topic: str, examined: Machine) -> Finding:
    return next(finding for finding in examine(examined) if finding.topic == topic)


@pytest.mark.parametrize(
    ("topic", "level", "given", "command"),
    [
        ("cpus", "note", machine({"allowed": [0, 1]}), None),
        ("cpu quota", "bad", machine(cpu_quota=0.2), None),
        ("governor", "note", machine({"governors": ["unknown"]}), None),
        ("turbo", "warn", machine({"turbo": True, "model": "Intel Xeon"}), "no_turbo"),
        ("idle cpus", "note", machine({"idle": SHARED_CORES}), None),
        ("idle cpus", "warn", machine({"idle": NOT_PERMITTED}), "/dev/cpu_dma_latency"),
        ("smt", "warn", machine({"siblings": {"0": "0-1", "1": "0-1"}}), "smt/control"),
        ("open files", "note", machine(open_files_hard=20_000), "prlimit"),
        (
            "net.ipv4.ip_local_port_range",
            "note",
            machine(sysctl={"net.ipv4.ip_local_port_range": "32768\t60999"}),
            "12000 65535",
        ),
        (
            "net.ipv4.tcp_tw_reuse",
            "warn",
            machine(sysctl={"net.ipv4.tcp_tw_reuse": "0"}),
            "tcp_tw_reuse=1",
        ),
    ],
)
def test_a_problem_is_found_by_its_check_alone(
    topic: str, level: str, given: Machine, command: str | None
) -> None:
    findings = [finding for finding in examine(given) if finding.level != "ok"]
    assert [(finding.topic, finding.level) for finding in findings] == [(topic, level)]
    fix = findings[0].command
    assert fix is None if command is None else command in (fix or "")


def test_load_steal_and_memory_come_from_the_samples() -> None:
    busy = replace(machine(), samples=(sample(0.0), sample(1.0, busy=10)))
    assert finding_on("other load", busy).level == "warn"
    assert finding_on("other load", busy).reading.startswith("10 % busy")
    stolen = replace(machine(), samples=(sample(0.0), sample(1.0, steal=3)))
    assert finding_on("steal", stolen).level == "bad"
    barely = replace(machine(), samples=(sample(0.0), sample(1.0, steal=1)))
    assert finding_on("steal", barely).level == "ok"
    small = replace(machine(), samples=(sample(0.0), sample(1.0, available=2 << 30)))
    assert finding_on("memory", small).level == "warn"


def test_siblings_that_are_not_allowed_do_not_count() -> None:
    shared = {"0": "0,4", "1": "1,5"}
    assert finding_on("smt", machine({"siblings": shared})).level == "ok"
    assert (
        finding_on("smt", machine({"siblings": shared, "allowed": [0, 1, 4]})).reading
        == "siblings 0,4"
    )


def test_limits_of_the_kernel_are_told_as_connections_and_rates() -> None:
    assert "10,000" in finding_on("open files", machine(open_files_hard=20_000)).meaning
    without_reuse = machine(
        sysctl={"net.ipv4.tcp_tw_reuse": "0", "net.ipv4.ip_local_port_range": "1000 60999"}
    )
    assert "1,000 requests/s" in finding_on("net.ipv4.tcp_tw_reuse", without_reuse).meaning


def test_unused_swap_is_a_note_and_used_swap_a_warning() -> None:
    line = "/dev/sda2  partition  2097152  {used}  -2\n"
    idle = replace(machine(), swaps=SWAPS + line.format(used=0))
    assert finding_on("swap", idle).level == "note"
    used = replace(machine(), swaps=SWAPS + line.format(used=1024))
    assert finding_on("swap", used).level == "warn"
    assert finding_on("swap", used).reading == "1 of 2,048 MiB used"


def test_a_missing_reading_gives_no_finding() -> None:
    silent = machine({"turbo": None}, dict.fromkeys(SYSCTL), clocksource=None)
    topics = {finding.topic for finding in examine(replace(silent, swaps=""))}
    missing = {"io_uring", "turbo", "clocksource", "swap", "transports", "aes"}
    assert topics.isdisjoint({*SYSCTL, *missing})


@pytest.mark.parametrize("line", ["flags\t\t: fpu aes sse2", "Features\t: fp asimd aes sha1"])
def test_aes_of_x86_and_arm_is_seen_in_any_place_of_the_list(line: str) -> None:
    assert finding_on("aes", replace(machine(), cpu_features=f"{line}\n")).level == "ok"
