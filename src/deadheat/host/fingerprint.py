"""`Fingerprint`: what is known of a host that may explain a figure; nothing that identifies it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from deadheat.strict import JsonObject, Strict

Cpus = Annotated[tuple[int, ...], Field(strict=False)]


class IdleState(Strict):
    """How idle CPUs sleep. `wake_up_us` is what they are held to; None if they are not."""

    driver: str | None
    wake_up_us: int | None
    hindrance: str | None  # why they cannot be held


class Processor(Strict):
    """What is not known is None."""

    model: str | None
    logical: int
    allowed: Cpus
    smt_active: int | None
    siblings: dict[str, str | None]
    packages: int
    governors: Annotated[tuple[str, ...], Field(strict=False)]
    turbo: bool | None
    virtual_machine: bool | None
    mitigations: dict[str, str | None]
    idle: IdleState


class Interface(Strict):
    """A host's network interface on the link to another host.

    `offloads` are named as by ethtool. `interrupt_cpus` served the interface's interrupts while
    the link was probed, `interrupt_targets` are the CPUs that the kernel sends them to. Both are
    empty for an interface without interrupts, such as veth, a bridge or loopback.
    """

    driver: str | None
    mtu_bytes: int | None
    offloads: dict[str, bool]
    interrupt_cpus: Cpus
    interrupt_targets: Cpus

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


class LinkSpeed(Strict):
    """What the null server reached over a link."""

    round_trip_us: float
    bytes_per_s: float


class FarHost(Strict):
    """A host behind ssh: the time of a request to its agent, and the link once it was measured."""

    agent_round_trip_us: float
    network: LinkSpeed | None = None
    same_machine: bool = False  # as another host of the run, in another namespace or container


class Fingerprint(Strict):
    """`link` is that of a host behind ssh, `interface` that of each host of a link."""

    cpu: Processor
    memory_total_bytes: int
    architecture: str
    kernel: str
    os: str | None
    clocksource: str | None
    open_files_soft: int
    open_files_hard: int
    sysctl: dict[str, str | None]
    containment: str
    memory_source: str | None
    """What memory of a tree contains, and who counts it. Before version 0.2: `cgroup`, with page
    cache and memory of the kernel, or `sampled PSS`, with mapped files."""
    load_average: Annotated[tuple[float, ...], Field(strict=False)]
    python: str
    network: Literal["isolated"] | None = None
    cpu_quota: float | None = None  # CPUs, of its cgroup or a parent of that
    interface: Interface | None = None
    link: FarHost | None = None

    def to_json(self) -> JsonObject:
        """As the store and documents have it: without links where there are none."""
        return self.model_dump(mode="json", exclude_defaults=True)
