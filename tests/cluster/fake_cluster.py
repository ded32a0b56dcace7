"""A cluster without hosts: each run returns a stored bundle, or ends as the test says."""

from collections.abc import Callable, Sequence
from typing import Any

from deadheat.cluster.on_ray import Node
from deadheat.cluster.race import Ending
from deadheat.cluster.result import ClusterHost, ClusterRecord, HostPair

QUIET = {"server": 0.002, "load": 0.003}
BOTH = ("server", "load")
End = Callable[[HostPair, Sequence[str]], Ending]


def node(number: int, *roles: str, alive: bool = True) -> Node:
    """As Ray describes it."""
    return {
        "NodeID": f"id{number}",
        "NodeManagerAddress": f"192.168.10.{number}",
        "NodeManagerHostname": f"host{number}",
        "Alive": alive,
        "Resources": {"CPU": 4.0, **dict.fromkeys(roles, 1.0)},
    }


def host(number: int) -> ClusterHost:
    return ClusterHost(name=f"host{number}", address=f"192.168.10.{number}")


def pairs(count: int) -> tuple[HostPair, ...]:
    """Pairs of two hosts each."""
    return tuple(
        HostPair(number=n, server=host(2 * n), load=host(2 * n + 1)) for n in range(1, count + 1)
    )


def planned(**values: Any) -> ClusterRecord:
    """The record of a cluster run that has not begun."""
    known = {"started_at": "2026-11-26", "command": ("deadheat", "cluster", "run")}
    return ClusterRecord(**{**known, "margin": 0.03, "confidence": 0.95, "together": 6, **values})


class FakeCluster:
    """Runs end in the order in which they were started; `end` says how."""

    def __init__(self, count: int, end: End) -> None:
        self.pairs = pairs(count)
        self.started: list[tuple[int, list[str]]] = []
        self._end = end
        self._running: list[tuple[HostPair, Sequence[str]]] = []

    def start(self, pair: HostPair, words: Sequence[str]) -> None:
        self.started.append((pair.number, list(words)))
        self._running.append((pair, words))

    def next_ending(self) -> Ending:
        return self._end(*self._running.pop(0))
