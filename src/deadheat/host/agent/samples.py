"""Samples of the machine and of trees, over time."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path
from typing import Iterable, Iterator  # noqa: UP035 (for 3.8)

from .kernel import CPU_DEVICES, keyed, read_number, read_text
from .program import Fault, Json
from .quota import limited_cgroups, throttled
from .tree import Processes

USAGE_INTERVAL_S = 1.0  # each reading visits every process of a tree and takes CPU time


def cpu_ticks() -> dict[str, list[int]]:
    """(user, nice, system, idle, iowait, irq, softirq, steal) of each CPU, cumulative."""
    lines = (line.split() for line in (read_text("/proc/stat") or "").splitlines())
    rows = (row for row in lines if row[0].startswith("cpu") and row[0] != "cpu")
    return {row[0][3:]: [int(field) for field in row[1:9]] for row in rows}


def cpu_khz(devices: Path, cpus: Iterable[str]) -> dict[str, int]:
    """The clock frequency of those of `cpus` that report it; few virtual machines do."""
    clocks = {cpu: read_number(devices / f"cpu{cpu}/cpufreq/scaling_cur_freq") for cpu in cpus}
    return {cpu: khz for cpu, khz in clocks.items() if khz is not None}


def network_counters() -> dict[str, int]:
    wanted = ("ListenDrops", "ListenOverflows", "RetransSegs", "TCPTimeWaitOverflow")
    counters: dict[str, int] = {}
    for name in ("netstat", "snmp"):
        lines = (read_text(f"/proc/net/{name}") or "").splitlines()
        for keys, values in zip(lines[::2], lines[1::2]):  # noqa: B905 (strict= needs 3.10)
            pairs = zip(keys.split(), values.split())  # noqa: B905
            counters.update((key, int(value)) for key, value in pairs if key in wanted)
    return counters


def packet_drops() -> dict[str, int]:
    """Packets that the interfaces of this network namespace dropped, without loopback.

    Named as in RFC 2863: `ifInDiscards` were received, `ifOutDiscards` were to be sent.
    """
    drops = {"ifInDiscards": 0, "ifOutDiscards": 0}
    lines = (read_text("/proc/net/dev") or "").splitlines()[2:]
    for name, _, rest in (line.partition(":") for line in lines):
        numbers = rest.split()
        if name.strip() != "lo" and len(numbers) > 11:
            drops["ifInDiscards"] += int(numbers[3])
            drops["ifOutDiscards"] += int(numbers[11])
    return drops if lines else {}


def listen_drops() -> int | None:
    """Connections that full listen queues of this network namespace have dropped so far."""
    counters = network_counters()
    seen = [counters[name] for name in ("ListenDrops", "ListenOverflows") if name in counters]
    return max(seen, default=None)


def pressure_cpu_us() -> int | None:
    for line in (read_text("/proc/pressure/cpu") or "").splitlines():
        if line.startswith("some"):
            return int(line.rpartition("total=")[2])
    return None


class Watch(threading.Thread):
    """Samples the machine and some trees until `finish`."""

    def __init__(self, trees: dict[str, Processes], interval_s: float) -> None:
        super().__init__(daemon=True)
        self.trees = trees
        self.interval_s = interval_s
        self.limited = limited_cgroups()
        self.over = threading.Event()
        self.failure: Exception | None = None
        self.samples = [self.sample(with_usage=True, with_switches=True)]
        self.start()

    def sample(self, with_usage: bool, with_switches: bool = False) -> Json:
        meminfo = keyed(read_text("/proc/meminfo"))
        ticks = cpu_ticks()
        return {
            "at_s": time.monotonic(),
            "cpu_ticks": ticks,
            "usage": dict(self.usages(with_switches)) if with_usage else {},
            "network": {**network_counters(), **packet_drops()},
            "pressure_cpu_us": pressure_cpu_us(),
            "memory_available_bytes": 1024 * meminfo.get("MemAvailable", 0),
            "cpu_khz": cpu_khz(CPU_DEVICES, ticks),
            "throttled": throttled(self.limited),
        }

    def usages(self, with_switches: bool) -> Iterator[tuple[str, Json]]:
        """The usage of every tree that has not been stopped since."""
        for name, tree in self.trees.items():
            with contextlib.suppress(Fault):
                yield name, tree.usage(with_switches)

    def run(self) -> None:
        try:
            self.keep_sampling()
        except Exception as error:
            self.failure = error

    def keep_sampling(self) -> None:
        start_s = self.samples[0]["at_s"]
        due_s, usage_due_s = start_s + self.interval_s, start_s + USAGE_INTERVAL_S
        while not self.over.wait(max(0.0, due_s - time.monotonic())):
            with_usage = due_s >= usage_due_s
            self.samples.append(self.sample(with_usage))
            if with_usage:
                usage_due_s = due_s + USAGE_INTERVAL_S
            due_s = max(due_s + self.interval_s, time.monotonic())

    def finish(self) -> list[Json]:
        self.over.set()
        self.join()
        if self.failure:
            raise Fault(f"the watch failed: {self.failure!r}")
        return [*self.samples, self.sample(with_usage=True, with_switches=True)]
