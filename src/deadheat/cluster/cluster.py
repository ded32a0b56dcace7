"""`Cluster`: the seam to what places runs on hosts. Ray is behind it, and a fake in tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol as Interface

from deadheat.cluster.hosts import HostPair


@dataclass(frozen=True, slots=True)
class HostShare:
    """What Ray used of the CPUs of one host during a run."""

    role: str  # server, load, or both
    ray_cpu_share: float


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run on a pair of hosts ended.

    `lost` says why if a host died; then the pair gets no further run. `bundle` can be there anyway,
    with what was measured. `shares` lacks a host that could not be read.
    """

    pair: HostPair
    exit_code: int | None = None
    bundle: bytes | None = None
    error: str = ""
    shares: tuple[HostShare, ...] = ()
    lost: str | None = None


class Cluster(Interface):
    """Hosts on which runs are started."""

    @property
    def pairs(self) -> Sequence[HostPair]: ...

    def start(self, pair: HostPair, words: Sequence[str]) -> None:
        """Start `deadheat run WORDS` on a pair. The server host is added where it is another."""

    def next_ending(self) -> Ending:
        """Wait until a run that was started ends, or its hosts are lost."""
