"""Judges a trial: every gate is one typed check with a reading, a threshold and advice.

A gate without a reading in this trial (wrk does not count connections served) is left out; it does
not pass. Thresholds are widened by the resolution of the reading: one tick of a tick counter, one
event of an event count. The samples span the whole life of the generator; the clock is read from
those in between.

A trial also stores these readings, which have no gate:

* Pressure (PSI cpu): the time in which anything waited for a CPU. A server with several processes
  on one saturated CPU reads near 100 % without any other load, and the kernel's total does not
  say which process waited for which. The `neighbor` gate reads the CPU time of other processes.
* The sum of bytes received. The engine compares each whole response, so a wrong one is an error.
  For wrk and ab only the sum is known, which does not show that single responses were right.
* The engine's own `limits`, if a gate here judges the same reading.
* The retransmissions of the whole network namespace, if the engine reads those of its own
  connections. Other programs' traffic is in them too, and segments that a server's kernel repeated
  without a loss, because the client read late (tail loss probes).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from deadheat.measure.gates import client, machine, network, server
from deadheat.measure.gates.evidence import Evidence, gate
from deadheat.store import Gate

GATES: tuple[Callable[[Evidence], Gate | None], ...] = (
    server.errors,
    server.served,
    server.workers,
    server.little_law,
    server.achieved,
    client.client_resources,
    client.client_cpu,
    client.client_wait,
    client.ceiling,
    client.send_lag,
    machine.steal,
    machine.neighbor,
    machine.frequency,
    machine.listen_drops,
    machine.retransmits,
    network.network,
    network.skew,
)


BLOCK_GATES = (machine.steal_of_block, machine.neighbor)
SLICED_GATES = (
    server.errors,
    server.served,
    server.workers,
    server.little_law,
    client.client_resources,
    client.client_wait,
    machine.listen_drops,
    machine.retransmits,
    network.network,
    network.skew,
)


def judge_slices(evidence: Evidence) -> list[Gate]:
    """The gates of one trial that is made of slices.

    The machine is judged over the block that the slices of all contenders share (`judge_block`),
    the client's limits over all slices of a contender (`pooled`).
    """
    readings = (read(evidence) for read in SLICED_GATES)
    return [reading for reading in readings if reading is not None]


def judge_block(evidence: Evidence) -> list[Gate]:
    """The gates of the machine over one block; they hold for every trial of it alike."""
    readings = (read(evidence) for read in BLOCK_GATES)
    return [reading for reading in readings if reading is not None]


def judge_load_host(evidence: Evidence, knows_generator: bool) -> list[Gate]:
    """The gates of the machine on a load host over one trial; no server runs there.

    Unless the CPU time of its generator is known, other processes cannot be told from that.
    """
    checks = (machine.steal, machine.neighbor) if knows_generator else (machine.steal,)
    readings = (read(evidence) for read in checks)
    return on_load_host(reading for reading in readings if reading is not None)


def on_load_host(gates: Iterable[Gate]) -> list[Gate]:
    """The same gates; their advice says which machine they are about."""
    return [
        replace(each, advice=f"on the load host: {each.advice}" if each.advice else "")
        for each in gates
    ]


def worst_of(gates: Iterable[Gate]) -> list[Gate]:
    """One gate for each check: one that failed, else the one with the highest reading."""
    worst: dict[str, Gate] = {}
    for each in gates:
        kept = worst.get(each.code)
        if kept is None or _badness(each) > _badness(kept):
            worst[each.code] = each
    return list(worst.values())


def _badness(each: Gate) -> tuple[bool, float]:
    return (not each.passed, each.reading or 0.0)


def judge(evidence: Evidence) -> list[Gate]:
    """All gates with a reading in this trial; `pooled.invalidating` says which make it invalid."""
    readings = (read(evidence) for read in GATES)
    return [reading for reading in readings if reading is not None]


def steady_gate(kind: str) -> Gate | None:
    """Whether an instance reached its steady state; `kind` is a class of `stats.steady`.

    The classes are those of Barrett et al. (Virtual Machine Warmup Blows Hot and Cold, 2017):
    flat, warm-up and slowdown end in a steady state, none does not. None if it was not looked for.
    """
    if kind == "unsought":
        return None
    advice = (
        "its rate never became steady, or its warm-up failed: raise warmup.limit_s in the protocol"
    )
    return gate("steady", kind != "none", None, None, None, advice)
