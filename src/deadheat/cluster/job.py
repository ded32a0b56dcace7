"""`Job`: the contenders that race together on one pair of hosts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

TOGETHER_MAX = 6  # contenders of a run, besides the shared ones


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do. `servers` are its own, without the shared ones; `attempt` counts from 1."""

    number: int
    servers: tuple[str, ...]
    attempt: int = 1


def jobs_of(servers: Sequence[str], pairs: int, together: int = TOGETHER_MAX) -> tuple[Job, ...]:
    """The servers in runs of like size, at most `together` each.

    Their number is a multiple of `pairs` if there are servers enough, so no pair of hosts waits for
    the last run. Neighbors in the list are spread: they often are of one language and alike slow.
    Without servers, there is a run of the shared ones on each pair.
    """
    if not servers:
        return tuple(Job(place + 1, ()) for place in range(pairs))
    rounds = math.ceil(len(servers) / (pairs * together))
    count = min(rounds * pairs, len(servers))
    return tuple(Job(place + 1, tuple(servers[place::count])) for place in range(count))
