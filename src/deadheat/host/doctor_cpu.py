"""Checks of the CPUs of a machine, one function per check. See `doctor`."""

from collections.abc import Mapping, Sequence

from deadheat.host.machine import Finding, Level, Machine

STEAL_SHARE_MAX = 0.01
BUSY_SHARE_MAX = 0.05
CHEAP_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")


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
    reading = f"{100 * time.steal_share:.1f} % of {time.elapsed_s:.1f} s"
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
    reading = f"{100 * min(1.0, time.busy_share):.0f} % busy now, load average {last_minute:.2f}"
    if time.busy_share <= BUSY_SHARE_MAX:
        return Finding("ok", "other load", reading, "The CPUs are idle now.")
    meaning = (
        "Other processes run on these CPUs. Trials that they disturb fail the gate `neighbor`. End "
        "the processes that the command shows."
    )
    level: Level = "bad" if time.busy_share > 5 * BUSY_SHARE_MAX else "warn"
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
    return [listed for listed in lists if len(usable & _cpu_list(listed)) > 1]


def _cpu_list(text: str) -> set[int]:
    cpus: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        cpus.update(range(int(low), int(high or low) + 1))
    return cpus
