"""Checks a machine for what disturbs measurements. The checks are pure functions.

Each check maps a `Machine` to a `Finding`, or to None if the machine does not report what the
check reads. `CHECKS` lists them.
"""

from collections.abc import Callable
from typing import get_args

from deadheat.host import doctor_cpu, doctor_limits
from deadheat.host.machine import Finding, Level, Machine, Tool

GIB = 2**30


def examine(machine: Machine) -> list[Finding]:
    """All findings, the worst first."""
    findings = [finding for check in CHECKS if (finding := check(machine)) is not None]
    findings += [_tool(tool) for tool in machine.tools]
    order = get_args(Level)
    return sorted(findings, key=lambda finding: -order.index(finding.level))


def containment(machine: Machine) -> Finding:
    how = machine.fingerprint.containment
    memory = machine.fingerprint.memory_source
    if how != "cgroup-v2":
        meaning = (
            "CPU time is polled from /proc and servers are frozen by signals. Short-lived child "
            "processes are partly missed."
        )
        command = "systemd-run --user --scope -p Delegate=yes deadheat run ..."
        return Finding("warn", "containment", how, meaning, command)
    if memory != "cgroup":
        meaning = (
            "CPU time is exact. Peak memory is sampled, because the cgroups here have no memory "
            "controller. A short peak may be missed."
        )
        return Finding("note", "containment", f"{how}, memory by {memory}", meaning)
    return Finding("ok", "containment", how, "CPU time and peak memory are exact.")


def memory(machine: Machine) -> Finding:
    available = machine.samples[-1].memory_available_bytes
    total = machine.fingerprint.memory_total_bytes
    reading = f"{available / GIB:.1f} of {total / GIB:.1f} GiB available"
    if available >= 4 * GIB:
        return Finding("ok", "memory", reading, "Enough for a dozen servers in memory together.")
    meaning = (
        "All contenders of a run stay in memory together, and a JVM takes some hundred MiB. Race "
        "fewer servers at a time."
    )
    return Finding("warn" if available >= GIB else "bad", "memory", reading, meaning)


def swap(machine: Machine) -> Finding | None:
    sizes_kib = [line.split()[2:4] for line in machine.swaps.splitlines()[1:]]
    if not machine.swaps:
        return None
    if not sizes_kib:
        return Finding("ok", "swap", "none", "A frozen server stays in memory.")
    used_mib, total_mib = (sum(int(row[column]) for row in sizes_kib) / 1024 for column in (1, 0))
    meaning = "A frozen server may be swapped out. Its next trial then starts slowly."
    reading = f"{used_mib:,.0f} of {total_mib:,.0f} MiB used"
    return Finding("warn" if used_mib else "note", "swap", reading, meaning, "sudo swapoff -a")


def _tool(tool: Tool) -> Finding:
    if tool.version is not None:
        return Finding("ok", tool.name, tool.version, "This load generator can be used.")
    if tool.required:
        meaning = f"Without the load engine no server can be measured: {tool.install}."
        return Finding("bad", tool.name, "missing", meaning)
    meaning = "Protocols that use it cannot run."
    return Finding("note", tool.name, "missing", meaning, tool.install)


CHECKS: tuple[Callable[[Machine], Finding | None], ...] = (
    doctor_cpu.cpus,
    doctor_cpu.virtual_cpu,
    doctor_cpu.steal,
    doctor_cpu.other_load,
    doctor_cpu.governor,
    doctor_cpu.turbo,
    doctor_cpu.smt,
    doctor_cpu.idle_cpus,
    doctor_cpu.clocksource,
    containment,
    memory,
    swap,
    doctor_limits.open_files,
    doctor_limits.listen_backlog,
    doctor_limits.syn_backlog,
    doctor_limits.client_ports,
    doctor_limits.time_wait,
    doctor_limits.io_uring,
)
