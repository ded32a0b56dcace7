"""What the CPUs of a machine do to a measurement: one function a check, see `doctor`."""

from collections.abc import Mapping, Sequence

from deadheat.host.machine import Finding, Level, Machine

STEAL_SHARE_MAX = 0.01
BUSY_SHARE_MAX = 0.05
CHEAP_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")


def cpus(machine: Machine) -> Finding:
    allowed, logical = len(machine.cpu["allowed"]), machine.cpu["logical"]
    reading = f"{allowed} of {logical} usable"
    if allowed < 2:
        meaning = "A server and its load generator need a CPU each: nothing can be compared here."
        return Finding("bad", "cpus", reading, meaning)
    if allowed == 2:
        meaning = (
            "One for the server, one for the load generator: workers beyond one share a CPU, so "
            "nothing is learnt here about how a server scales."
        )
        return Finding("note", "cpus", reading, meaning)
    return Finding("ok", "cpus", reading, "Server and load generator have CPUs of their own.")


def virtual_cpu(machine: Machine) -> Finding | None:
    if not machine.cpu["virtual_machine"]:
        return None
    meaning = (
        "Guests on the same metal share its caches, clock and memory, of which only stolen CPU "
        "time shows. Compare within one run, never across days."
    )
    return Finding("note", "virtual cpu", "a virtual machine", meaning)


def steal(machine: Machine) -> Finding | None:
    if (time := machine.cpu_time) is None:
        return None
    reading = f"{time.steal_share:.1%} of {time.elapsed_s:.1f} s"
    if time.steal_share <= STEAL_SHARE_MAX + time.tick_share:
        return Finding("ok", "steal", reading, "The hypervisor gave the CPUs to nobody else.")
    meaning = (
        "The hypervisor gives these CPUs to other guests: trials will fail the gate `steal`. "
        "Measure at another hour, or on another machine."
    )
    return Finding("bad", "steal", reading, meaning)


def other_load(machine: Machine) -> Finding | None:
    if (time := machine.cpu_time) is None:
        return None
    last_minute = machine.fingerprint["load_average"][0]
    reading = f"{min(1.0, time.busy_share):.0%} busy now, load average {last_minute:.2f}"
    if time.busy_share <= BUSY_SHARE_MAX:
        return Finding("ok", "other load", reading, "The CPUs are idle now.")
    meaning = (
        "Other processes run on these CPUs: each trial that meets them fails the gate `neighbour`. "
        "End what the command shows."
    )
    level: Level = "bad" if time.busy_share > 5 * BUSY_SHARE_MAX else "warn"
    return Finding(level, "other load", reading, meaning, "top -b -n 1 -o %CPU | head -n 15")


def governor(machine: Machine) -> Finding:
    names = machine.cpu["governors"]
    reading = ", ".join(names)
    if names == ["performance"]:
        return Finding("ok", "governor", reading, "The clock does not wait for load to rise.")
    if names == ["unknown"]:
        meaning = (
            "The clock's frequency cannot be seen from here (usual in a virtual machine): a "
            "throttled CPU would show in the null server's rate alone."
        )
        return Finding("note", "governor", "not readable", meaning)
    meaning = "The clock rises only after load does, so short trials start on a slow CPU."
    folder = "/sys/devices/system/cpu/cpu*/cpufreq"
    command = f"echo performance | sudo tee {folder}/scaling_governor"
    return Finding("warn", "governor", reading, meaning, command)


def turbo(machine: Machine) -> Finding | None:
    on = machine.cpu["turbo"]
    if on is None:
        return None
    if not on:
        return Finding("ok", "turbo", "off", "The clock does not depend on heat.")
    meaning = (
        "The clock depends on heat and on how many CPUs are busy. The random order of trials "
        "spreads that evenly, and it widens every interval."
    )
    intel = "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
    others = "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
    command = intel if "Intel" in (machine.cpu["model"] or "") else others
    return Finding("warn", "turbo", "on", meaning, command)


def smt(machine: Machine) -> Finding | None:
    shared = _shared_cores(machine.cpu["siblings"], machine.cpu["allowed"])
    if not shared:
        meaning = "No two usable CPUs share a core, as far as the machine tells."
        return Finding("ok", "smt", "no siblings", meaning)
    meaning = (
        "These CPUs share a core: what one of them does slows the other, server and load "
        "generator included."
    )
    reading = "siblings " + " ".join(shared)
    command = "echo off | sudo tee /sys/devices/system/cpu/smt/control"
    return Finding("warn", "smt", reading, meaning, command)


def clocksource(machine: Machine) -> Finding | None:
    name = machine.fingerprint["clocksource"]
    if name is None:
        return None
    if name in CHEAP_CLOCKS:
        return Finding("ok", "clocksource", name, "The time is read without a system call.")
    meaning = "Reading the time is a system call or worse, and the load engine pays it twice."
    folder = "/sys/devices/system/clocksource/clocksource0"
    return Finding(
        "warn", "clocksource", name, meaning, f"echo tsc | sudo tee {folder}/current_clocksource"
    )


def _shared_cores(siblings: Mapping[str, str | None], allowed: Sequence[int]) -> list[str]:
    """The lists of CPUs ("0,4", "0-1") of which two or more are allowed, each once."""
    usable = set(allowed)
    lists = dict.fromkeys(listed for listed in siblings.values() if listed)
    return [listed for listed in lists if len(usable & _cpu_list(listed)) > 1]


def _cpu_list(text: str) -> set[int]:
    found: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        found.update(range(int(low), int(high or low) + 1))
    return found
