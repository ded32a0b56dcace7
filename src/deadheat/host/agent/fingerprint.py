"""The properties of this machine that may explain a figure."""

from __future__ import annotations

import os
import platform
import resource
from pathlib import Path

from .containment import Containment
from .fault import Json
from .idle import IdleCpus
from .kernel_files import CPU_DEVICES, keyed, read_number, read_text

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


def fingerprint(containment: Containment, idle_cpus: IdleCpus, isolated: bool) -> Json:
    """Properties that may explain a figure; none that identifies machine, address or user."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    network: Json = {"network": "isolated"} if isolated else {}
    return {
        **network,
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
