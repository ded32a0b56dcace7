"""Simulated races of servers that pause, slice by slice as the engine counts requests.

Each server answers first in, first out, in a closed loop of 100 connections, and stops for
`pause_s` after every `requests_between` requests: a collector that runs per allocated volume. It is
frozen between its slices, so only requests bring it nearer to its next pause. A slice counts the
requests that are sent in a window of random length and follows each to its answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from deadheat.stats.model.slices import SliceArrays
from tests.stats.slice_races import QUIET, Field, Machine, Schedule, race

CONNECTIONS = 100
SERVICE_S = 68e-6  # of a request
DISCARD_S = 0.01
WINDOW_S, WINDOW_VARIES = 0.08, 0.6


@dataclass(frozen=True)
class Pauses:
    """A pause after every `requests_between` requests; none if that is 0."""

    pause_s: float = 0.0
    requests_between: int = 0

    @property
    def true_log_rate(self) -> float:
        """Relative to a server without pauses."""
        if not self.requests_between:
            return 0.0
        return -float(np.log1p(self.pause_s / (self.requests_between * SERVICE_S)))


def paused_race(
    generator: np.random.Generator,
    pauses: Sequence[Pauses],
    schedule: Schedule,
    machine: Machine = QUIET,
) -> SliceArrays:
    """One race. Beside their pauses, all contenders are copies of one server."""
    slices = race(generator, Field.copies(len(pauses), 0.01), schedule, machine)
    instances = int(slices.instance.max()) + 1
    served = generator.integers(1 << 40, size=instances)  # requests, when a slice begins
    log_rate, weight = slices.log_rate.copy(), np.empty(len(slices))
    for place in np.argsort(slices.time_s, kind="stable"):
        instance, own = slices.instance[place], pauses[slices.contender[place]]
        window_s = WINDOW_S * generator.uniform(1 - WINDOW_VARIES, 1 + WINDOW_VARIES)
        requests, mean_cycle_s, taken = _slice(own, int(served[instance]), window_s)
        served[instance] += taken
        log_rate[place] += np.log(CONNECTIONS * SERVICE_S / mean_cycle_s)
        weight[place] = requests / window_s
    sent = weight > 0
    slices = slices.taken(sent)
    return replace(slices, log_rate=log_rate[sent], weight=weight[sent])


def _slice(pauses: Pauses, served: int, window_s: float) -> tuple[int, float, int]:
    """Requests that count, their mean cycle time, and all requests that the slice took."""
    size = int((DISCARD_S + window_s) / SERVICE_S) + 4 * CONNECTIONS
    answered_s = SERVICE_S * np.arange(1, size + 1)
    if pauses.requests_between:
        number = (served + np.arange(1, size + 1)) // pauses.requests_between
        answered_s += pauses.pause_s * (number - served // pauses.requests_between)
    sent_s = np.concatenate([np.zeros(CONNECTIONS), answered_s[:-CONNECTIONS]])
    counts = np.flatnonzero((sent_s > DISCARD_S) & (sent_s <= DISCARD_S + window_s))
    if not len(counts):  # a pause takes all of the window
        return 0, np.nan, int(np.searchsorted(answered_s, DISCARD_S + window_s)) + CONNECTIONS
    cycles_s = answered_s[counts] - sent_s[counts]
    return len(counts), float(cycles_s.mean()), int(counts[-1]) + 1 + CONNECTIONS
