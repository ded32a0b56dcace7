"""Schedule of a server that runs alone: its trials in order, and when it restarts."""

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
    """One trial; `starts` if a fresh process precedes it."""

    connections: int
    repetition: int  # of its level, from 1
    starts: bool


def restart_of(protocol: Protocol, label: str | None) -> Restart:
    """The restart policy of a contender: that of its published row, or the protocol's."""
    return protocol.restarts.get(label or "", protocol.restart)


def schedule(
    protocol: Protocol, label: str | None = None, done: Collection[tuple[int, int]] = ()
) -> Iterator[Step]:
    """All repetitions of each level, level by level; `label` is the published row, if any.

    `done` lists steps to leave out, by connections and repetition. A fresh process precedes the
    first step.
    """
    restart = restart_of(protocol, label)
    last: int | None = None  # the level of the step before
    for connections in protocol.connections:
        for repetition in range(1, protocol.stopping.repetitions + 1):
            if (connections, repetition) in done:
                continue
            restarts = restart == "repetition" or (restart == "level" and connections != last)
            yield Step(connections, repetition, last is None or restarts)
            last = connections


def steps_left(
    protocol: Protocol, labels: Mapping[str, str], name: str, past: Past
) -> Iterator[Step]:
    """The remaining steps of a contender, including failed trials.

    A series with recoveries needs one process, so a series that has begun does not continue.
    """
    if protocol.recovery is not None and past.has(name):
        return iter(())
    return schedule(protocol, labels.get(name), past.done(name))
