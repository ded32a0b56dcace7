"""Gates: every doubt about a trial is one typed check with its reading, threshold and advice.

A gate whose reading this trial does not offer (wrk tells no thread's share) is left out, never
passed. Thresholds are widened by what the reading cannot resolve: tick counters are read in whole
ticks, and a count of events in single events. The samples span the generator's whole life.

What is kept with a trial and gates nothing:

* Pressure (PSI cpu): the time in which anything waited for a CPU. A server of several processes
  on one saturated CPU reads near 100 % all by itself, and the kernel's total does not say who
  waited for whom. What a neighbour took is read by `neighbour`.
* The clock's frequency: samples are a second apart and a trial may last half of that, so they
  meet CPUs that idle. A clock that drifts shows in the null server, which runs in every block.
* The sum of bytes received: the engine compares each response whole, so a wrong one is one of
  its error classes; of wrk and ab only a sum is known, which acquits no single response.
* The engine's own `limits`, which serve it when it runs alone: what they read is judged here
  with the thresholds of a campaign. Only that it ran out of ports or descriptors is taken over.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from deadheat.campaign.racer import Racer
from deadheat.campaign.world import World
from deadheat.host import Completed, Sample
from deadheat.host.cpu_time import CpuTime, cpu_time
from deadheat.load import LoadResult, LoadSpec
from deadheat.store import Gate

LITTLE_ERROR_MAX = 0.05
CLIENT_SHARE_MAX = 0.80
CEILING_SHARE_MAX = 0.70
STEAL_SHARE_MAX = 0.01
NEIGHBOUR_SHARE_MAX = 0.05
RETRANSMITS_PER_10K_MAX = 1.0
ACHIEVED_SHARE_MIN = 0.99
SEND_LAG_US_MAX = 100.0
SEND_LAG_SHARE_MAX = 0.05  # of the median response time

TASK_COUNTERS = 3  # user, nice, system: each is read to one tick a CPU


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one trial.

    `cpus` are those of the server, and of the generator where it runs on the sampled host too
    (`beside`). `probes_client` marks the null server: loading it is how the client's own limit is
    found, so that limit is no fault there.
    """

    spec: LoadSpec
    result: LoadResult
    generator: Completed
    samples: Sequence[Sample]
    cpus: Sequence[int]
    beside: bool = True
    ceiling_per_s: float | None = None
    probes_client: bool = False

    @classmethod
    def of(
        cls,
        world: World,
        racer: Racer,
        spec: LoadSpec,
        result: LoadResult,
        generator: Completed,
        samples: Sequence[Sample],
        ceiling_per_s: float | None,
    ) -> Self:
        beside = world.load_host is world.server_host
        cpus = world.server_cpus + (world.load_cpus if beside else ())
        probes_client = racer.role == "canary"
        return cls(spec, result, generator, samples, cpus, beside, ceiling_per_s, probes_client)

    @property
    def cpu_time(self) -> CpuTime | None:
        return cpu_time(self.samples[0], self.samples[-1], self.cpus)

    @property
    def server_cpu_s(self) -> float | None:
        """What the server's trees used; None where one was not seen at both ends."""
        first, last = self.samples[0].usage, self.samples[-1].usage
        if not first or first.keys() != last.keys():
            return None
        return sum(last[process].cpu_s - first[process].cpu_s for process in first)

    def counted(self, counter: str) -> int | None:
        """How far a network counter went; None where the kernel has none."""
        first, last = self.samples[0].network, self.samples[-1].network
        return last[counter] - first[counter] if counter in first and counter in last else None


def judge(evidence: Evidence) -> list[Gate]:
    """Every gate that can be read of this trial. A trial that fails one is shown, not ranked."""
    readings = (gate(evidence) for gate in GATES)
    return [gate for gate in readings if gate is not None]


def steady_gate(kind: str) -> Gate | None:
    """Whether a start found its steady state: `kind` is a class of `stats.steady`.

    The classes are those of Barrett et al. (Virtual Machine Warmup Blows Hot and Cold, 2017):
    flat, warm-up and slowdown end in a steady stretch, none does not. None where none was sought.
    """
    if kind == "unsought":
        return None
    advice = "its rate never became steady: warm it longer (warmup.limit_s), or read it as it is"
    return _gate("steady", kind != "none", None, None, advice)


def errors(evidence: Evidence) -> Gate:
    """No request failed, in whatever class. Errors are in no rate, but they cost time."""
    result = evidence.result
    by_count = sorted(result.errors.items(), key=lambda item: -item[1])
    advice = ", ".join(f"{count} {name}" for name, count in by_count)
    if result.generator == "wrk" and result.errors.get("read"):
        advice += (
            "; wrk also counts a read error for a right answer that ends with its connection: "
            "--generator engine tells them apart"
        )
    return _at_most("errors", result.errors_total, 0, advice)


def served(evidence: Evidence) -> Gate | None:
    """Every connection that was asked for was established, and answered at least once.

    An open loop that offers fewer requests than there are connections has no use for all.
    """
    spec, result = evidence.spec, evidence.result
    wanted, seen = spec.connections, result.connections_served
    if seen is None:
        return None
    if spec.rate_per_s is not None:
        wanted = min(wanted, result.requests_ok + result.errors_total)
    advice = (
        f"{wanted - seen} of {wanted} connections never got an answer (open at once: "
        f"{result.connections_established}): fewer connections, a longer trial, a larger backlog, "
        "or more workers"
    )
    return _gate("served", seen >= wanted, seen, wanted, advice)


def client_limits(evidence: Evidence) -> Gate | None:
    """No request failed because the client had no descriptor or no port left.

    Of the engine only: the others have no class of errors for it.
    """
    if evidence.result.generator != "engine":
        return None
    reached = {limit["code"]: limit["reading"] for limit in evidence.result.limits}
    advice = "the client ran out of descriptors or ports: `deadheat doctor` says how to widen them"
    return _at_most("client_limits", reached.get("client_resources", 0), 0, advice)


def little_law(evidence: Evidence) -> Gate | None:
    """Closed loop: rate times mean service time is the number of connections (Little, 1961).

    Of the engine only: wrk rewrites its latencies and ab rounds them to milliseconds. Not with a
    connection per request either: connecting is no service time. A request that overlaps an end
    of the trial is counted whole or not at all, which moves the sum by at most one service time
    of each connection.
    """
    spec, result = evidence.spec, evidence.result
    mean_us = result.service_us.get("mean")
    if (
        result.generator != "engine"
        or spec.rate_per_s is not None
        or not spec.keep_alive
        or mean_us is None
    ):
        return None
    busy = result.rate_per_s * mean_us / 1e6
    off = abs(busy / spec.connections - 1)
    advice = (
        f"rate and service time account for {busy:.1f} of {spec.connections} connections: "
        "some were idle or starved, or time passed inside the client"
    )
    edges = mean_us / 1e6 / result.elapsed_s
    return _at_most("little_law", off, LITTLE_ERROR_MAX + edges, advice)


def client_cpu(evidence: Evidence) -> Gate | None:
    """The busiest client thread had CPU time to spare.

    A generator that does not tell it is read from outside if it has a single thread.
    """
    share = evidence.result.busiest_thread_share
    if share is None and evidence.spec.threads == 1 and evidence.generator.elapsed_s > 0:
        share = evidence.generator.cpu_s / evidence.generator.elapsed_s
    if share is None or evidence.probes_client:
        return None
    advice = "the load generator was near its own limit: more load threads, or a second host"
    return _at_most("client_cpu", share, CLIENT_SHARE_MAX, advice)


def ceiling(evidence: Evidence) -> Gate | None:
    """The rate is well below what the same client reached against the null server."""
    if not evidence.ceiling_per_s or evidence.probes_client:
        return None
    advice = (
        f"the null server gave no more than {evidence.ceiling_per_s:,.0f} requests/s: this rate "
        "may be the client's; more load threads, or a second host"
    )
    share = evidence.result.rate_per_s / evidence.ceiling_per_s
    return _at_most("ceiling", share, CEILING_SHARE_MAX, advice)


def steal(evidence: Evidence) -> Gate | None:
    """The hypervisor gave our CPUs' time to nobody else."""
    if (time := evidence.cpu_time) is None:
        return None
    advice = "other guests of this metal took CPU time: measure at another hour, or elsewhere"
    return _at_most("steal", time.steal_share, STEAL_SHARE_MAX + time.tick_share, advice)


def neighbour(evidence: Evidence) -> Gate | None:
    """Nothing but the server's trees and the load generator ran on our CPUs.

    Task time alone is compared. Interrupt time is left out: it is the traffic's own work, done
    on whichever CPU, and some kernels count it as the interrupted task's as well. There the
    reading is too low by that much: it may acquit a small neighbour, it accuses no traffic.
    """
    time, server_cpu_s = evidence.cpu_time, evidence.server_cpu_s
    if time is None or server_cpu_s is None:
        return None
    ours_s = server_cpu_s + (evidence.generator.cpu_s if evidence.beside else 0.0)
    share = max(0.0, time.tasks_s - ours_s) / time.capacity_s
    threshold = NEIGHBOUR_SHARE_MAX + TASK_COUNTERS * time.tick_share
    advice = "other processes used these CPUs: end them; `top -o %CPU` shows which"
    return _at_most("neighbour", share, threshold, advice)


def listen_drops(evidence: Evidence) -> Gate | None:
    """No connection was dropped for want of room in a listen queue of this network namespace."""
    drops, overflows = evidence.counted("ListenDrops"), evidence.counted("ListenOverflows")
    if drops is None or overflows is None:
        return None
    advice = (
        "a listen queue overflowed: raise the server's backlog, and net.core.somaxconn above it"
    )
    return _at_most("listen_drops", max(drops, overflows), 0, advice)


def retransmits(evidence: Evidence) -> Gate | None:
    """Segments sent again, per 10,000 requests; each may stall a connection for 200 ms.

    The counter is the network namespace's, so a single segment is no reason for doubt.
    """
    requests = evidence.result.requests_sent_in_all or evidence.result.requests_ok
    segments = evidence.counted("RetransSegs")
    if segments is None or not requests:
        return None
    one = 1e4 / requests
    advice = (
        "segments were lost: a queue overflowed on the way, or other traffic was on the network"
    )
    return _at_most("retransmits", segments * one, max(RETRANSMITS_PER_10K_MAX, one), advice)


def achieved(evidence: Evidence) -> Gate | None:
    """Open loop: as many answers as were asked for, while they were asked for.

    Read from the series, because the rate counts late answers too: a server that falls behind
    gives them while the generator waits for the rest. Requests that are rightly under way when
    the window ends are one service time's worth.
    """
    result = evidence.result
    rows = [row for row in result.series if row["at_s"] <= result.elapsed_s + 1e-6]
    if evidence.spec.rate_per_s is None or not result.offered_rate_per_s or not rows:
        return None
    until_s = rows[-1]["at_s"]
    share = sum(row["ok"] for row in rows) / until_s / result.offered_rate_per_s
    under_way = (result.service_us.get("mean") or 0.0) / 1e6 / until_s
    advice = "the server did not keep up with the offered rate: its latency has no bound there"
    least = ACHIEVED_SHARE_MIN - under_way
    return _gate("achieved", share >= least, share, least, advice)


def send_lag(evidence: Evidence) -> Gate | None:
    """Open loop: requests left when they were meant to, or nearly so beside the response time."""
    lag_us, median_us = evidence.result.send_lag_us_p99, evidence.result.response_us.get("p50")
    if evidence.spec.rate_per_s is None or lag_us is None:
        return None
    bound_us = max(SEND_LAG_US_MAX, SEND_LAG_SHARE_MAX * (median_us or 0.0))
    advice = "the client sent late (us): a lower rate, more load threads, or a CPU of its own"
    return _at_most("send_lag", lag_us, bound_us, advice)


GATES: tuple[Callable[[Evidence], Gate | None], ...] = (
    errors,
    served,
    client_limits,
    little_law,
    client_cpu,
    ceiling,
    steal,
    neighbour,
    listen_drops,
    retransmits,
    achieved,
    send_lag,
)


def _at_most(code: str, reading: float, threshold: float, advice: str) -> Gate:
    return _gate(code, reading <= threshold, reading, threshold, advice)


def _gate(
    code: str, passed: bool, reading: float | None, threshold: float | None, advice: str
) -> Gate:
    return Gate(code, passed, reading, threshold, "" if passed else advice)
