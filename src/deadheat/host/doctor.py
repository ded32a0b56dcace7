"""Checks a machine for what disturbs measurements. The checks are pure functions.

Each check maps a `Machine` to a `Finding`, or to None if the machine does not report what the
check reads. `CHECKS` lists them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

from deadheat import numbers
from deadheat.host import Sample
from deadheat.host.agent.network import cpus_in
from deadheat.host.cpu_time import OTHERS_SHARE_MAX, STEAL_SHARE_MAX, CpuTime, cpu_time
from deadheat.host.fingerprint import Fingerprint, Processor

Level = Literal["ok", "note", "warn", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding about the machine: the reading, its meaning, and a command that fixes it."""

    level: Level
    topic: str
    reading: str
    meaning: str
    command: str | None = None  # None: no command fixes it


@dataclass(frozen=True, slots=True)
class Tool:
    """A load generator: its version, None if it is missing, and how to install it."""

    name: str
    version: str | None
    install: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """The input of the checks. The samples span about a second in which deadheat is idle.

    `swaps` is the text of /proc/swaps, `cpu_features` a line of /proc/cpuinfo, `fingerprint` from
    `Host.fingerprint`, and `transports` what the load engine says that it speaks.
    """

    fingerprint: Fingerprint
    samples: Sequence[Sample]
    tools: Sequence[Tool] = ()
    swaps: str = ""
    transports: str | None = None
    cpu_features: str = ""

    @property
    def cpu(self) -> Processor:
        return self.fingerprint.cpu

    @property
    def cpu_time(self) -> CpuTime | None:
        return cpu_time(self.samples[0], self.samples[-1], self.cpu.allowed)

    def sysctl_number(self, name: str) -> int | None:
        text = self.fingerprint.sysctl.get(name)
        return int(text) if text is not None and text.isdigit() else None

    @property
    def client_ports(self) -> range | None:
        bounds = (self.fingerprint.sysctl.get(CLIENT_PORTS) or "").split()
        return range(int(bounds[0]), int(bounds[1]) + 1) if len(bounds) == 2 else None


def host_key(fingerprint: Fingerprint) -> str:
    """What a calibration applies to: processor, CPUs, kernel, and load from here or over a link."""
    cpu = fingerprint.cpu
    link = "" if fingerprint.interface is None else ", over a link"
    return f"{cpu.model}, {cpu.logical} CPUs, {fingerprint.kernel}{link}"


CLIENT_PORTS = "net.ipv4.ip_local_port_range"
CHEAP_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")
CONNECTION_LEVELS = (1_000, 10_000, 20_000)
DESCRIPTORS_RESERVED = 64  # of a process, not for connections
TIME_WAIT_S = 60  # TCP_TIMEWAIT_LEN, fixed in the kernel


def examine(machine: Machine) -> list[Finding]:
    """All findings, the worst first."""
    findings = [finding for check in CHECKS if (finding := check(machine)) is not None]
    findings += [_tool(tool) for tool in machine.tools]
    order = get_args(Level)
    return sorted(findings, key=lambda finding: -order.index(finding.level))


def cpus(machine: Machine) -> Finding:
    allowed, logical = len(machine.cpu.allowed), machine.cpu.logical
    reading = f"{allowed} of {logical} usable"
    if allowed < 2:
        meaning = "A server and its load generator need one CPU each. Nothing can be compared here."
        return Finding("bad", "cpus", reading, meaning)
    if allowed == 2:
        meaning = (
            "One for the server, one for the load generator. All workers of a server share one "
            "CPU, so runs here do not show how a server scales."
        )
        return Finding("note", "cpus", reading, meaning)
    return Finding("ok", "cpus", reading, "Server and load generator run on separate CPUs.")


def cpu_quota(machine: Machine) -> Finding | None:
    if (quota := machine.fingerprint.cpu_quota) is None:
        return None
    reading = f"{quota:g} CPUs in each period"
    meaning = (
        "A quota of this cgroup (cpu.max, cpu.cfs_quota_us) stops the server and the load "
        "generator when it is used up. Such trials fail the gate `throttled`. Give the container "
        "whole CPUs instead of a quota: --cpuset-cpus instead of --cpus."
    )
    return Finding("bad", "cpu quota", reading, meaning)


def virtual_cpu(machine: Machine) -> Finding | None:
    if not machine.cpu.virtual_machine:
        return None
    meaning = (
        "Other guests on the same machine share its caches, clock and memory. Only stolen CPU time "
        "is visible. Compare within one run, never across days."
    )
    return Finding("note", "virtual cpu", "a virtual machine", meaning)


def steal(machine: Machine) -> Finding | None:
    if (time := machine.cpu_time) is None:
        return None
    reading = f"{numbers.percent(time.steal_share)} of {time.elapsed_s:.1f} s"
    if time.steal_share <= STEAL_SHARE_MAX + time.tick_share:
        return Finding("ok", "steal", reading, "The hypervisor gave these CPUs to no other guest.")
    meaning = (
        "The hypervisor gives these CPUs to other guests, so intervals get wider. Above 1 % a "
        "trial fails the gate `steal`, above 5 % a block of slices does. Measure at another time, "
        "or on another machine."
    )
    return Finding("bad", "steal", reading, meaning)


def other_load(machine: Machine) -> Finding | None:
    if (time := machine.cpu_time) is None:
        return None
    last_minute = machine.fingerprint.load_average[0]
    busy = numbers.percent(min(1.0, time.busy_share), 0)
    reading = f"{busy} busy now, load average {last_minute:.2f}"
    if time.busy_share <= OTHERS_SHARE_MAX:
        return Finding("ok", "other load", reading, "The CPUs are idle now.")
    meaning = (
        "Other processes run on these CPUs. Trials that they disturb fail the gate `neighbor`. End "
        "the processes that the command shows."
    )
    level: Level = "bad" if time.busy_share > 5 * OTHERS_SHARE_MAX else "warn"
    return Finding(level, "other load", reading, meaning, "top -b -n 1 -o %CPU | head -n 15")


def governor(machine: Machine) -> Finding:
    names = machine.cpu.governors
    reading = ", ".join(names)
    if names == ("performance",):
        return Finding("ok", "governor", reading, "The clock does not depend on the load.")
    if names == ("unknown",):
        meaning = (
            "The clock frequency cannot be read here (usual in a virtual machine). Only the rate "
            "of the null server would show a throttled CPU."
        )
        return Finding("note", "governor", "not readable", meaning)
    meaning = "The clock rises after the load does, so short trials start on a slow CPU."
    folder = "/sys/devices/system/cpu/cpu*/cpufreq"
    command = f"echo performance | sudo tee {folder}/scaling_governor"
    return Finding("warn", "governor", reading, meaning, command)


def turbo(machine: Machine) -> Finding | None:
    on = machine.cpu.turbo
    if on is None:
        return None
    if not on:
        return Finding("ok", "turbo", "off", "The clock does not depend on temperature.")
    meaning = (
        "The clock depends on the temperature and on how many CPUs are busy. The random order of "
        "trials spreads the effect evenly, but every interval gets wider."
    )
    intel = "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
    others = "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
    command = intel if "Intel" in (machine.cpu.model or "") else others
    return Finding("warn", "turbo", "on", meaning, command)


def smt(machine: Machine) -> Finding | None:
    shared = _shared_cores(machine.cpu.siblings, machine.cpu.allowed)
    if not shared:
        meaning = "The machine reports no two usable CPUs on one core."
        return Finding("ok", "smt", "no siblings", meaning)
    meaning = (
        "These CPUs share a core: load on one slows the other, also between server and load "
        "generator."
    )
    reading = "siblings " + " ".join(shared)
    command = "echo off | sudo tee /sys/devices/system/cpu/smt/control"
    return Finding("warn", "smt", reading, meaning, command)


def idle_cpus(machine: Machine) -> Finding:
    hindrance = machine.cpu.idle.hindrance
    if hindrance is None:
        meaning = "A race keeps them awake, because waking a CPU takes time from the servers."
        return Finding("ok", "idle cpus", machine.cpu.idle.driver or "no driver", meaning)
    meaning = (
        "A race cannot keep idle CPUs awake. Waking one takes time from the servers, above all on "
        "a virtual machine, and makes rates scatter."
    )
    if hindrance != "not permitted":
        return Finding("note", "idle cpus", hindrance, meaning)
    meaning += " Run deadheat as root, or let it write to this file."
    command = "sudo setfacl -m u:$USER:w /dev/cpu_dma_latency"
    return Finding("warn", "idle cpus", hindrance, meaning, command)


def clocksource(machine: Machine) -> Finding | None:
    name = machine.fingerprint.clocksource
    if name is None:
        return None
    if name in CHEAP_CLOCKS:
        return Finding("ok", "clocksource", name, "Reading the time needs no system call.")
    meaning = "Reading the time is slow, and the load engine does it twice per request."
    folder = "/sys/devices/system/clocksource/clocksource0"
    return Finding(
        "warn", "clocksource", name, meaning, f"echo tsc | sudo tee {folder}/current_clocksource"
    )


def _shared_cores(siblings: Mapping[str, str | None], allowed: Sequence[int]) -> list[str]:
    """Each distinct list of CPUs ("0,4", "0-1") of which two or more are allowed."""
    usable = set(allowed)
    lists = dict.fromkeys(listed for listed in siblings.values() if listed)
    return [listed for listed in lists if len(usable & cpus_in(listed)) > 1]


def open_files(machine: Machine) -> Finding:
    hard = machine.fingerprint.open_files_hard
    reading = f"{machine.fingerprint.open_files_soft} (can be raised to {hard})"
    levels = [level for level in CONNECTION_LEVELS if hard >= level + DESCRIPTORS_RESERVED]
    if levels == list(CONNECTION_LEVELS):
        return Finding("ok", "open files", reading, f"Enough for {levels[-1]:,} connections.")
    room = f"enough for {levels[-1]:,}" if levels else "not enough for 1,000"
    meaning = (
        f"For servers and load generators deadheat raises it to {hard:,}, {room} connections. "
        "The command raises it for this shell and its child processes."
    )
    command = "sudo prlimit --pid $$ --nofile=65536:65536"
    return Finding("note" if levels else "bad", "open files", reading, meaning, command)


def queue(machine: Machine, name: str, limit: str) -> Finding | None:
    if (size := machine.sysctl_number(name)) is None:
        return None
    if size >= CONNECTION_LEVELS[0]:
        meaning = f"{limit} Enough for {CONNECTION_LEVELS[0]:,} connections that arrive together."
        return Finding("ok", name, str(size), meaning)
    meaning = f"{limit} If more connections arrive together, some are dropped and retry late."
    return Finding("warn", name, str(size), meaning, f"sudo sysctl -w {name}=8192")


def client_ports(machine: Machine) -> Finding | None:
    if (numbers_of_ports := machine.client_ports) is None:
        return None
    ports = len(numbers_of_ports)
    reading = f"{numbers_of_ports[0]} to {numbers_of_ports[-1]}: {ports:,} ports"
    # The kernel prefers every second port, and its search is slow once those are taken.
    if ports // 2 >= CONNECTION_LEVELS[-1]:
        meaning = f"One address is enough for {CONNECTION_LEVELS[-1]:,} connections."
        return Finding("ok", CLIENT_PORTS, reading, meaning)
    meaning = (
        f"wrk and ab connect from one address and slow down beyond {ports // 2:,} connections. The "
        "load engine uses more addresses. (Servers get the ports below 12000.)"
    )
    command = f'sudo sysctl -w {CLIENT_PORTS}="12000 65535"'
    return Finding("note", CLIENT_PORTS, reading, meaning, command)


def time_wait(machine: Machine) -> Finding | None:
    name = "net.ipv4.tcp_tw_reuse"
    value = machine.sysctl_number(name)
    if value is None or machine.client_ports is None:
        return None
    if value == 1:
        return Finding("ok", name, "1", "Closed connections free their ports within a second.")
    if value == 2:
        meaning = "Closed connections to this host free their ports within a second, others do not."
        return Finding("ok", name, "2", meaning)
    rate_per_s = len(machine.client_ports) / TIME_WAIT_S
    meaning = (
        f"A closed connection keeps its port for {TIME_WAIT_S} s. With one connection per "
        f"request, at most {rate_per_s:,.0f} requests/s are possible in the long run."
    )
    return Finding("warn", name, str(value), meaning, f"sudo sysctl -w {name}=1")


def io_uring(machine: Machine) -> Finding | None:
    name = "kernel.io_uring_disabled"
    value = machine.sysctl_number(name)
    if value is None:
        return None
    if value == 0:
        meaning = "The kernel allows it. The system call filter of a container may still forbid it."
        return Finding("ok", "io_uring", "allowed", meaning)
    meaning = "Servers that prefer it use something else, and the load engine uses epoll."
    return Finding("note", "io_uring", f"{name} = {value}", meaning, f"sudo sysctl -w {name}=0")


def transports(machine: Machine) -> Finding | None:
    if machine.transports is None:
        return None
    meaning = (
        "The load engine has TLS and HTTP/2 built in; openssl and h2load are not needed. A server "
        "takes part in the transports that its manifest names (deadheat list --json). wrk and ab "
        "load plain HTTP only."
    )
    return Finding("ok", "transports", machine.transports, meaning)


def aes(machine: Machine) -> Finding | None:
    features = machine.cpu_features.split()
    if not features:
        return None
    if "aes" in features:
        return Finding(
            "ok", "aes", "in hardware", "All servers encrypt with AES-128-GCM, which is fast here."
        )
    meaning = (
        "This CPU has no instructions for AES. All servers encrypt with AES-128-GCM, so TLS takes "
        "much more CPU time here than on most machines."
    )
    return Finding("warn", "aes", "in software", meaning)


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
    meaning = (
        "CPU time is exact. Memory is anonymous and shared memory, without page cache. The peak of "
        "several processes is the most of all readings, so a short one may be missed."
    )
    return Finding("ok", "containment", f"{how}; memory: {memory}", meaning)


def memory(machine: Machine) -> Finding:
    available = machine.samples[-1].memory_available_bytes
    total = machine.fingerprint.memory_total_bytes
    reading = f"{numbers.gibibytes(available)} of {numbers.gibibytes(total)} GiB available"
    if available >= 4 * numbers.GIB:
        return Finding("ok", "memory", reading, "Enough for a dozen servers in memory together.")
    meaning = (
        "All contenders of a run stay in memory together, and a JVM takes some hundred MiB. Race "
        "fewer servers at a time."
    )
    return Finding("warn" if available >= numbers.GIB else "bad", "memory", reading, meaning)


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
    cpus,
    cpu_quota,
    virtual_cpu,
    steal,
    other_load,
    governor,
    turbo,
    smt,
    idle_cpus,
    clocksource,
    containment,
    memory,
    swap,
    open_files,
    partial(
        queue,
        name="net.core.somaxconn",
        limit="The upper limit of a server's listen backlog.",
    ),
    partial(
        queue,
        name="net.ipv4.tcp_max_syn_backlog",
        limit="The limit of half-open connections of a listening socket.",
    ),
    client_ports,
    time_wait,
    io_uring,
    transports,
    aes,
)
