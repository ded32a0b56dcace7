"""`LinkInterface`: one host's network interface on the link, read around the probe of the link."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class LinkInterface:
    """What may explain a rate over the link.

    `offloads` are named as by ethtool. `interrupt_cpus` served the interface's interrupts while
    the link was probed, `interrupt_targets` are the CPUs that the kernel sends them to. Both are
    empty for an interface without interrupts, such as veth, a bridge or loopback.
    """

    driver: str | None
    mtu_bytes: int | None
    offloads: Mapping[str, bool]
    interrupt_cpus: tuple[int, ...]
    interrupt_targets: tuple[int, ...]

    @classmethod
    def of(cls, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Self | None:
        """From two readings of the agent; None if no route leads to the other host."""
        if before is None or after is None:
            return None
        counts = before["interrupts"]
        served = (cpu for cpu, n in after["interrupts"].items() if n > counts.get(cpu, 0))
        return cls(
            driver=after["driver"],
            mtu_bytes=after["mtu_bytes"],
            offloads=after["offloads"],
            interrupt_cpus=tuple(sorted(map(int, served))),
            interrupt_targets=tuple(after["interrupt_targets"]),
        )
