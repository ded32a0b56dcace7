"""The trials of one server that runs alone, in order, and before which it is started anew: pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from deadheat.protocol import Protocol, Restart


@dataclass(frozen=True, slots=True)
class Step:
    """One trial; `starts` where a fresh process precedes it."""

    connections: int
    repetition: int  # of its level, from 1
    starts: bool


def restart_of(protocol: Protocol, label: str | None) -> Restart:
    """The restart policy of a contender: its published row's own, else the protocol's."""
    return protocol.restarts.get(label or "", protocol.restart)


def schedule(protocol: Protocol, label: str | None = None) -> Iterator[Step]:
    """Level by level, all repetitions of each; `label` is the published row, if it has one."""
    restart = restart_of(protocol, label)
    first = True
    for connections in protocol.connections:
        for repetition in range(1, protocol.stopping.repetitions + 1):
            anew = restart == "repetition" or (restart == "level" and repetition == 1)
            yield Step(connections, repetition, first or anew)
            first = False
