"""The properties of this machine that may explain a figure, and how its idle CPUs sleep.

A CPU without work halts, and waking it takes time, above all on a virtual machine, whose hypervisor
has to act. While a program holds /dev/cpu_dma_latency open, the kernel lets no CPU halt
in a way that takes longer to leave than the program wrote there (PM QoS).
"""

from __future__ import annotations

import os
import platform
import resource
import struct
from pathlib import Path

from .containment import Containment
from .kernel import CPU_DEVICES, keyed, read_number, read_text
from .program import Json
from .quota import cpu_quota

QOS_DEVICE = Path("/dev/cpu_dma_latency")
SYSCTLS = (
    "net/core/somaxconn",
    "net/ipv4/tcp_max_syn_backlog",
    "net/ipv4/ip_local_port_range",
    "net/ipv4/tcp_tw_reuse",
    "net/ipv4/tcp_congestion_control",
    "net/ipv4/tcp_syncookies",
    "kernel/io_uring_disabled",
    "kernel/randomize_va_space",
    "vm/overcommit_memory",
)


class IdleCpus:
    """The idle CPUs of this machine. They are kept awake until `release`, or this process ends."""

    def __init__(
        self, virtual: bool, devices: Path = CPU_DEVICES, qos_device: Path = QOS_DEVICE
    ) -> None:
        self.virtual = virtual
        self.devices = devices
        self.qos_device = qos_device
        self.held_fd: int | None = None
        self.wake_up_us: int | None = None  # None: as long as the kernel likes

    def keep_awake(self) -> None:
        """Let idle CPUs poll on a virtual machine, and sleep as lightly as they can elsewhere.

        Where something hinders that, nothing changes.
        """
        if self.held_fd is not None or self.hindrance() is not None:
            return
        latency_us = 0 if self.virtual else self.lightest_us()
        fd = os.open(self.qos_device, os.O_WRONLY | os.O_CLOEXEC)
        self.held_fd = fd
        os.write(fd, struct.pack("i", latency_us))
        self.wake_up_us = latency_us

    def hindrance(self) -> str | None:
        """Why idle CPUs cannot be kept awake; None if they can.

        `no driver`: the kernel does not choose how they sleep. `shared cores`: on a virtual
        machine, a CPU that polls would slow the other one of its core. `not permitted`: this user
        may not write to the device.
        """
        if self.driver() is None:
            return "no driver"
        if self.virtual and read_number(self.devices / "smt/active") == 1:
            return "shared cores"
        return None if os.access(self.qos_device, os.W_OK) else "not permitted"

    def release(self) -> None:
        """Let idle CPUs sleep as before."""
        if self.held_fd is not None:
            os.close(self.held_fd)
        self.held_fd = self.wake_up_us = None

    def driver(self) -> str | None:
        """The driver by which the kernel chooses how an idle CPU sleeps; None without one."""
        name = read_text(self.devices / "cpuidle/current_driver")
        return None if name in (None, "", "none") else name

    def lightest_us(self) -> int:
        """The time to leave the lightest sleep; 0 if the CPUs only poll."""
        states = (self.devices / "cpu0/cpuidle").glob("state*")
        latencies = (
            read_number(state / "latency")
            for state in states
            if read_text(state / "name") != "POLL"
        )
        return min((latency for latency in latencies if latency is not None), default=0)

    def fingerprint(self) -> Json:
        """`wake_up_us` is what idle CPUs are held to; None if they are not."""
        return {
            "driver": self.driver(),
            "wake_up_us": self.wake_up_us,
            "hindrance": self.hindrance(),
        }


def fingerprint(containment: Containment, idle_cpus: IdleCpus, isolated: bool) -> Json:
    """Properties that may explain a figure; none that identifies machine, address or user."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    network: Json = {"network": "isolated"} if isolated else {}
    quota = cpu_quota()
    return {
        **network,
        **({} if quota is None else {"cpu_quota": quota}),
        "cpu": {**cpu_fingerprint(), "idle": idle_cpus.fingerprint()},
        "memory_total_bytes": 1024 * keyed(read_text("/proc/meminfo")).get("MemTotal", 0),
        "architecture": platform.machine(),
        "kernel": platform.release(),
        "os": os_name(),
        "clocksource": read_text(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "open_files_soft": soft,
        "open_files_hard": hard,
        "sysctl": {name.replace("/", "."): read_text(f"/proc/sys/{name}") for name in SYSCTLS},
        "containment": containment.name,
        "memory_source": containment.memory_source,
        "load_average": list(os.getloadavg()),
        "python": platform.python_version(),
    }


def cpu_fingerprint() -> Json:
    fields = first_cpu()
    folders = sorted(CPU_DEVICES.glob("cpu[0-9]*"), key=lambda folder: int(folder.name[3:]))
    weaknesses = sorted((CPU_DEVICES / "vulnerabilities").glob("*"))
    return {
        "model": fields.get("model name") or fields.get("Model") or platform.processor() or None,
        "logical": os.cpu_count(),
        "allowed": sorted(os.sched_getaffinity(0)),
        "smt_active": read_number(CPU_DEVICES / "smt/active"),
        "siblings": {
            folder.name[3:]: read_text(folder / "topology/thread_siblings_list")
            for folder in folders
        },
        "packages": len({read_text(f / "topology/physical_package_id") for f in folders}),
        "governors": sorted(
            {read_text(f / "cpufreq/scaling_governor") or "unknown" for f in folders}
        ),
        "turbo": turbo(CPU_DEVICES),
        "virtual_machine": is_virtual(fields),
        "mitigations": {path.name: read_text(path) for path in weaknesses},
    }


def first_cpu() -> dict[str, str]:
    """The fields of the first CPU in /proc/cpuinfo."""
    fields: dict[str, str] = {}
    for line in (read_text("/proc/cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    return fields


def is_virtual(cpu: dict[str, str]) -> bool | None:
    """Whether the machine of a CPU is virtual; None if the CPU does not say."""
    return "hypervisor" in cpu["flags"].split() if "flags" in cpu else None


def turbo(devices: Path) -> bool | None:
    no_turbo = read_number(devices / "intel_pstate/no_turbo")
    boost = read_number(devices / "cpufreq/boost")
    if no_turbo is not None:
        return no_turbo == 0
    return None if boost is None else boost == 1


def os_name() -> str | None:
    for line in (read_text("/etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip('"')
    return None
