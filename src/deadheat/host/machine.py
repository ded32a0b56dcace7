"""What is known of a machine before a measurement, and the form of what is found in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from deadheat.host.base import Sample
from deadheat.host.cpu_time import CpuTime, cpu_time

Level = Literal["ok", "note", "warn", "bad"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about the machine: what was read, what it means here, what changes it."""

    level: Level
    topic: str
    reading: str
    meaning: str
    command: str | None = None  # None: no command changes it


@dataclass(frozen=True, slots=True)
class Tool:
    """A load generator: its version, or how to get it."""

    name: str
    version: str | None
    install: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """What the checks read. The samples span about a second in which deadheat does nothing.

    `swaps` is the text of /proc/swaps; `fingerprint` is as `Host.fingerprint` gives it.
    """

    fingerprint: Mapping[str, Any]
    samples: Sequence[Sample]
    tools: Sequence[Tool] = ()
    swaps: str = ""

    @property
    def cpu(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.fingerprint["cpu"]
        return found

    @property
    def cpu_time(self) -> CpuTime | None:
        return cpu_time(self.samples[0], self.samples[-1], self.cpu["allowed"])

    def sysctl(self, name: str) -> str | None:
        value: str | None = self.fingerprint["sysctl"].get(name)
        return value

    def sysctl_number(self, name: str) -> int | None:
        text = self.sysctl(name)
        return int(text) if text is not None and text.isdigit() else None


def host_key(fingerprint: Mapping[str, Any]) -> str:
    """Which kind of machine a calibration speaks for: processor, CPUs, kernel."""
    cpu = fingerprint["cpu"]
    return f"{cpu['model']}, {cpu['logical']} CPUs, {fingerprint['kernel']}"
