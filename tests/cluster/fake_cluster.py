"""A cluster without hosts: each run returns a stored bundle, or ends as the test says."""

from collections.abc import Callable, Sequence

from deadheat.cluster.cluster import Ending, HostShare
from deadheat.cluster.hosts import HostPair, Node

QUIET = (HostShare("server", 0.002), HostShare("load", 0.003))
BOTH = ("server", "load")
End = Callable[[HostPair, Sequence[str]], Ending]


def node(number: int, *roles: str) -> Node:
    return Node(f"id{number}", f"192.168.10.{number}", f"host{number}", roles)


def pairs(count: int) -> tuple[HostPair, ...]:
    """Pairs of two hosts each."""
    return tuple(
        HostPair(n, node(2 * n, "server"), node(2 * n + 1, "load")) for n in range(1, count + 1)
    )


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
