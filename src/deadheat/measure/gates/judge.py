"""Gates: every doubt about a trial is one typed check with its reading, threshold and advice.

A gate whose reading this trial does not offer (wrk tells no connection served) is left out, never
passed. Thresholds are widened by what the reading cannot resolve: tick counters are read in whole
ticks, and a count of events in single events. The samples span the generator's whole life;
the clock is read of those within it.

What is kept with a trial and gates nothing:

* Pressure (PSI cpu): the time in which anything waited for a CPU. A server of several processes
  on one saturated CPU reads near 100 % all by itself, and the kernel's total does not say who
  waited for whom. What a neighbour took is read by `neighbour`.
* The sum of bytes received: the engine compares each response whole, so a wrong one is one of
  its error classes; of wrk and ab only a sum is known, which acquits no single response.
* The engine's own `limits`, where what they read is judged here by a campaign's thresholds.
"""

from collections.abc import Callable

from deadheat.measure.gates import client, machine, server
from deadheat.measure.gates.evidence import Evidence, gate
from deadheat.store import Gate

GATES: tuple[Callable[[Evidence], Gate | None], ...] = (
    server.errors,
    server.served,
    server.little_law,
    server.achieved,
    client.client_limits,
    client.client_cpu,
    client.client_wait,
    client.ceiling,
    client.send_lag,
    machine.steal,
    machine.neighbor,
    machine.frequency,
    machine.listen_drops,
    machine.retransmits,
)


def judge(evidence: Evidence) -> list[Gate]:
    """Every gate that can be read of this trial. A trial that fails one is shown, not ranked."""
    readings = (read(evidence) for read in GATES)
    return [reading for reading in readings if reading is not None]


def steady_gate(kind: str) -> Gate | None:
    """Whether a start found its steady state: `kind` is a class of `stats.steady`.

    The classes are those of Barrett et al. (Virtual Machine Warmup Blows Hot and Cold, 2017):
    flat, warm-up and slowdown end in a steady stretch, none does not. None where none was sought.
    """
    if kind == "unsought":
        return None
    advice = "its rate never became steady: warm it longer (warmup.limit_s), or read it as it is"
    return gate("steady", kind != "none", None, None, None, advice)
