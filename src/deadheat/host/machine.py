"""The state of a machine before a measurement, and the findings about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from deadheat.host import Sample
from deadheat.host.cpu_time import CpuTime, cpu_time
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

    `swaps` is the text of /proc/swaps; `fingerprint` is from `Host.fingerprint`.
    """

    fingerprint: Fingerprint
    samples: Sequence[Sample]
    tools: Sequence[Tool] = ()
    swaps: str = ""

    @property
    def cpu(self) -> Processor:
        return self.fingerprint.cpu

    @property
    def cpu_time(self) -> CpuTime | None:
        return cpu_time(self.samples[0], self.samples[-1], self.cpu.allowed)

    def sysctl(self, name: str) -> str | None:
        return self.fingerprint.sysctl.get(name)

    def sysctl_number(self, name: str) -> int | None:
        text = self.sysctl(name)
        return int(text) if text is not None and text.isdigit() else None


def host_key(fingerprint: Fingerprint) -> str:
    """What a calibration applies to: processor, CPUs, kernel, and load from here or over a link."""
    cpu = fingerprint.cpu
    link = "" if fingerprint.interface is None else ", over a link"
    return f"{cpu.model}, {cpu.logical} CPUs, {fingerprint.kernel}{link}"
