"""Was the client the limit? Judged per contender, over all of its closed-loop trials together.

Judging slice by slice, or trial by trial, would drop the fastest ones and keep the slow ones.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from deadheat.measure.gates.evidence import at_most
from deadheat.measure.gates.judge import CEILING_SHARE_MAX, CLIENT_SHARE_MAX, MORE_LOAD
from deadheat.store import Gate, TrialRecord
from deadheat.store.rows import POOLED_GATES

# Of the CPUs that the server can use. The kernel does not count interrupts as CPU time of a server:
# servers that were the only limit were seen at 0.94.
SATURATED_SHARE = 0.9
# CPU time per request at half the load over that at full load. A server that always spins is at 2.
# Others were seen at up to 1.55, because a gathering client fills their batches at full load.
SPIN_FACTOR = 1.8


@dataclass(frozen=True, slots=True)
class ClientUse:
    """One contender's sums over its trials at one level.

    `elapsed_s` is the time measured; `client_busy_s` the CPU time of the busiest client thread in
    it, if known; `server_cpu_s` the server's CPU time for the requests measured, `server_cpus` its
    CPUs; `ceiling_per_s` what the same client reached against the null server.
    """

    elapsed_s: float
    requests: int
    client_busy_s: float | None
    server_cpu_s: float | None
    server_cpus: int
    workers: int
    ceiling_per_s: float | None
    spins: bool = False

    @property
    def server_saturated(self) -> bool:
        """In a closed loop, a saturated server sets the rate, however busy the client is.

        The utilization law: throughput is at most the inverse of the largest demand (Denning and
        Buzen 1978). A server that spins while it waits only looks saturated.
        """
        if self.server_cpu_s is None or self.elapsed_s <= 0 or self.spins:
            return False
        return is_saturated(self.server_cpu_s / self.elapsed_s, self.server_cpus, self.workers)


def is_saturated(cpus_used: float, server_cpus: int, workers: int) -> bool:
    """Whether a server used all CPUs that it can: its workers where it keeps to fewer."""
    usable = workers if workers < server_cpus and cpus_used <= workers else server_cpus
    return cpus_used >= SATURATED_SHARE * usable


def spins(full_load_us: float | None, half_load_us: float | None) -> bool:
    """Whether a server uses CPU time while it waits: more per request at half the load."""
    return bool(full_load_us and half_load_us and half_load_us > SPIN_FACTOR * full_load_us)


def client_gates(use: ClientUse) -> list[Gate]:
    """`client_cpu` and `ceiling` of one contender; none where its server was saturated."""
    if use.server_saturated or use.elapsed_s <= 0:
        return []
    gates = []
    if use.client_busy_s is not None:
        share = use.client_busy_s / use.elapsed_s
        advice = f"the load generator was near its own limit: {MORE_LOAD}"
        gates.append(at_most("client_cpu", share, CLIENT_SHARE_MAX, "share", advice))
    if use.ceiling_per_s:
        share = use.requests / use.elapsed_s / use.ceiling_per_s
        advice = f"the rate is near the client's ceiling: {MORE_LOAD}"
        gates.append(at_most("ceiling", share, CEILING_SHARE_MAX, "share", advice))
    return gates


def invalidating(gates: Iterable[Gate], open_loop: bool) -> Iterator[Gate]:
    """The failed gates that make a trial invalid.

    In a closed loop, `client_cpu` and `ceiling` of a single trial are readings only.
    """
    return (
        gate for gate in gates if not gate.passed and (open_loop or gate.code not in POOLED_GATES)
    )


def failures(record: TrialRecord) -> tuple[Gate, ...]:
    """The failed gates that make this trial invalid."""
    return tuple(invalidating(record.gates, record.offered_rate_per_s is not None))


def is_valid(record: TrialRecord) -> bool:
    """Whether a trial may rank."""
    return record.state == "ok" and not failures(record)
