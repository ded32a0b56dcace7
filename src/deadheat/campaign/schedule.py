"""The trials of one server that runs alone, in order, and before which it is started anew: pure."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from deadheat.campaign.past import Past
from deadheat.protocol import Protocol, Restart

PROCESSES: Mapping[Restart, str] = {
    "never": "one process for all",
    "level": "a process for each level",
    "repetition": "a process for each trial",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One trial; `starts` where a fresh process precedes it."""

    connections: int
    repetition: int  # of its level, from 1
    starts: bool


def restart_of(protocol: Protocol, label: str | None) -> Restart:
    """The restart policy of a contender: its published row's own, else the protocol's."""
    return protocol.restarts.get(label or "", protocol.restart)


def schedule(
    protocol: Protocol, label: str | None = None, done: Collection[tuple[int, int]] = ()
) -> Iterator[Step]:
    """Level by level, all repetitions of each; `label` is the published row, if it has one.

    `done` are the steps to leave out, by connections and repetition; a fresh process precedes the
    first of the others.
    """
    restart = restart_of(protocol, label)
    last: int | None = None  # the level of the step before
    for connections in protocol.connections:
        for repetition in range(1, protocol.stopping.repetitions + 1):
            if (connections, repetition) in done:
                continue
            anew = restart == "repetition" or (restart == "level" and connections != last)
            yield Step(connections, repetition, last is None or anew)
            last = connections


def steps_left(
    protocol: Protocol, labels: Mapping[str, str], name: str, past: Past
) -> Iterator[Step]:
    """What a contender has still to do; trials that failed are tried again.

    A series with a recovery after each trial is of one process, so none that was begun goes on.
    """
    if protocol.recovery is not None and past.has(name):
        return iter(())
    return schedule(protocol, labels.get(name), past.done(name))
