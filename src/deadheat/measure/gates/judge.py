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

import statistics
from collections.abc import Callable, Iterable
from dataclasses import replace

from deadheat.load import LoadResult
from deadheat.measure.gates.evidence import Evidence, at_most, gate
from deadheat.store import Gate

LITTLE_ERROR_MAX = 0.05
ACHIEVED_SHARE_MIN = 0.99
MORE_LOAD = "use more load threads (--load-threads) or more load hosts (--load-host)"
CLIENT_SHARE_MAX = 0.80
CLIENT_WAIT_SHARE_MAX = 0.05
CEILING_SHARE_MAX = 0.70
SEND_LAG_US_MAX = 100.0
SEND_LAG_SHARE_MAX = 0.05  # of the median response time
STEAL_SHARE_MAX = 0.01
STEAL_SHARE_OF_BLOCK_MAX = 0.05  # as for other processes
NEIGHBOR_SHARE_MAX = 0.05
FREQUENCY_DROP_SHARE_MAX = 0.05
RETRANSMITS_PER_10K_MAX = 1.0

TASK_COUNTERS = 3  # user, nice, system; the resolution of each is one tick per CPU
LINK_SHARE_MAX = 0.8
SKEW_SHARE_MAX = 0.1  # of the window
ADVICE = {
    "bandwidth": "the network's bandwidth limited it: use a faster network, or smaller bodies",
    "round trip": "the network's round trip limited it: use more connections, or a shorter way",
}

Check = Callable[[Evidence], Gate | None]


def errors(evidence: Evidence) -> Gate:
    """No request failed. Rates do not include errors, but errors take time."""
    result = evidence.result
    by_count = sorted(result.errors.items(), key=lambda item: -item[1])
    advice = ", ".join(f"{count} {name}" for name, count in by_count)
    if result.generator == "wrk" and result.errors.get("read"):
        advice += (
            "; wrk also counts a read error for a right answer that closes its connection: "
            "--generator engine counts these as ok"
        )
    return at_most("errors", result.errors_total, 0, "count", advice)


def served(evidence: Evidence) -> Gate | None:
    """Every requested connection was established and got at least one answer.

    An open loop with fewer requests than connections does not need all connections.
    """
    spec, result = evidence.spec, evidence.result
    wanted, served_count = spec.connections, result.connections_served
    if served_count is None:
        return None
    if spec.rate_per_s is not None:
        wanted = min(wanted, result.requests_ok + result.errors_total)
    advice = (
        f"{wanted - served_count} of {wanted} connections got no answer (at most "
        f"{result.connections_established} were open): use fewer connections, a longer trial, a "
        "larger backlog, or more workers"
    )
    return gate("served", served_count >= wanted, served_count, wanted, "count", advice)


def workers(evidence: Evidence) -> Gate | None:
    """No worker process of the server ended; a new one in its place starts cold."""
    if evidence.workers_gone is None:
        return None
    advice = (
        "worker processes of the server ended during the trial: its log may say why; an option "
        "that replaces workers after some requests has to be off"
    )
    return at_most("workers", evidence.workers_gone, 0, "count", advice)


def little_law(evidence: Evidence) -> Gate | None:
    """Closed loop: requests in flight fill the connections, and the streams of each (Little, 1961:
    N = X R).

    Read from the engine only, which adds up the time of each request; wrk rewrites its latencies
    and ab rounds them to milliseconds. Of a request that overlaps an end of the trial, the time
    inside counts.
    """
    result = evidence.result
    if result.little_law_error is None or evidence.spec.rate_per_s is not None:
        return None
    error = abs(result.little_law_error)
    places = "streams" if (evidence.spec.http2_streams or 1) > 1 else "connections"
    advice = f"{places} were idle or starved, or time passed inside the client"
    return at_most("little_law", error, LITTLE_ERROR_MAX, "share", advice)


def achieved(evidence: Evidence) -> Gate | None:
    """Open loop: the achieved rate is the offered rate, while requests were offered.

    Read from the series, because the rate also counts late answers: those of a server that falls
    behind arrive while the generator waits for the rest. Requests that may be in flight when
    a window ends are those of one service time.
    """
    result = evidence.result
    rows = [row for row in result.series if row["at_s"] <= result.elapsed_s + 1e-6]
    if evidence.spec.rate_per_s is None or not result.offered_rate_per_s or not rows:
        return None
    until_s = rows[-1]["at_s"]
    share = sum(row["ok"] for row in rows) / until_s / result.offered_rate_per_s
    in_flight = (result.service_us.get("mean") or 0.0) / 1e6 / (evidence.window_s or until_s)
    advice = "the server did not keep up with the offered rate, so its latency is unbounded"
    least = ACHIEVED_SHARE_MIN - in_flight
    return gate("achieved", share >= least, share, least, "share", advice)


def client_resources(evidence: Evidence) -> Gate | None:
    """No request failed because the client had no descriptor or port left.

    Read from the engine only; other generators do not count such failures separately.
    """
    if evidence.result.generator != "engine":
        return None
    failed = evidence.limits.get("client_resources", 0)
    advice = "the client ran out of descriptors or ports: `deadheat doctor` says how to add some"
    return at_most("client_resources", failed, 0, "count", advice)


def client_cpu(evidence: Evidence) -> Gate | None:
    """The busiest client thread had CPU time to spare.

    If the generator does not report it, the CPU time of its process is read, for one thread only.
    """
    share = evidence.result.busiest_thread_share
    if share is None and evidence.spec.threads == 1 and evidence.generator.elapsed_s > 0:
        share = evidence.generator.cpu_s / evidence.generator.elapsed_s
    if share is None or evidence.probes_client:
        return None
    advice = f"the client was near its limit: {MORE_LOAD}"
    return at_most("client_cpu", share, CLIENT_SHARE_MAX, "share", advice)


def client_waited(result: LoadResult) -> bool:
    """Whether the client waited for its CPU during a slice; such a slice does not count."""
    return (result.run_wait_share or 0.0) > CLIENT_WAIT_SHARE_MAX


def client_wait(evidence: Evidence) -> Gate | None:
    """The client's threads got a CPU when they were ready to run."""
    share = evidence.result.run_wait_share
    if share is None:
        return None
    advice = (
        "another process, or the host of a virtual machine, used the client's CPU: end other "
        "processes"
    )
    return at_most("client_wait", share, CLIENT_WAIT_SHARE_MAX, "share", advice)


def ceiling(evidence: Evidence) -> Gate | None:
    """The rate is well below the ceiling: the rate of the same client with the null server."""
    if not evidence.ceiling_per_s or evidence.probes_client:
        return None
    advice = (
        f"the rate is near the client's ceiling, {evidence.ceiling_per_s:,.0f} requests/s with the "
        f"null server: {MORE_LOAD}"
    )
    share = evidence.result.rate_per_s / evidence.ceiling_per_s
    return at_most("ceiling", share, CEILING_SHARE_MAX, "share", advice)


def send_lag(evidence: Evidence) -> Gate | None:
    """Open loop: requests were sent when they were due, if a connection was free."""
    lag_us, median_us = evidence.result.client_lag_us_p99, evidence.result.response_us.get("p50")
    if evidence.spec.rate_per_s is None or lag_us is None:
        return None
    bound_us = max(SEND_LAG_US_MAX, SEND_LAG_SHARE_MAX * (median_us or 0.0))
    advice = "the client sent late: use a lower rate, or more load threads (--load-threads)"
    return at_most("send_lag", lag_us, bound_us, "us", advice)


def steal(evidence: Evidence) -> Gate | None:
    """The hypervisor did not give the time of our CPUs to other guests."""
    return _steal(evidence, STEAL_SHARE_MAX)


def steal_of_block(evidence: Evidence) -> Gate | None:
    """The same over a block of slices, which hits all contenders alike: it widens intervals."""
    return _steal(evidence, STEAL_SHARE_OF_BLOCK_MAX)


def _steal(evidence: Evidence, share_max: float) -> Gate | None:
    if (time := evidence.cpu_time) is None:
        return None
    advice = "other guests of the host took CPU time: measure at another time or on another machine"
    return at_most("steal", time.steal_share, share_max + time.tick_share, "share", advice)


def throttled(evidence: Evidence) -> Gate | None:
    """No CPU quota stopped the host. None without a quota."""
    if not evidence.samples:
        return None
    first, last = evidence.samples[0].throttled, evidence.samples[-1].throttled
    if first is None or last is None:
        return None
    both = "the server and the client" if evidence.beside else "the server"
    advice = (
        f"a CPU quota (cpu.max, cpu.cfs_quota_us) stopped {both}: raise it, or give the container "
        "whole CPUs (--cpuset-cpus instead of --cpus)"
    )
    if evidence.loads_only:
        advice = advice.replace(both, "the client")
    return at_most("throttled", last - first, 0, "count", advice)


def neighbor(evidence: Evidence) -> Gate | None:
    """Only the server's process trees and the load generator ran on our CPUs.

    Only task time is compared. Interrupt time belongs to the traffic and may run on any CPU; some
    kernels also count it as time of the interrupted task. There the reading is too low by that
    much, so it may miss a small neighbor, but it never blames the traffic.
    """
    time, server_cpu_s = evidence.cpu_time, evidence.server_cpu_s
    if time is None or server_cpu_s is None:
        return None
    ours_s = server_cpu_s + (evidence.generator.cpu_s if evidence.beside else 0.0)
    share = max(0.0, time.tasks_s - ours_s) / time.capacity_s
    threshold = NEIGHBOR_SHARE_MAX + TASK_COUNTERS * time.tick_share
    advice = "other processes used these CPUs: end them (`top -o %CPU` lists them)"
    return at_most("neighbor", share, threshold, "share", advice)


def frequency(evidence: Evidence) -> Gate | None:
    """The server's busy CPUs kept the clock of its earlier trials at this level.

    Trials of other servers do not count, because turbo depends on how many CPUs are busy: a server
    with one process may run at another clock than one with eight. In open loop the governor may
    save power, so there is no gate.
    """
    highest_khz = evidence.clock_khz_max
    if highest_khz is None or not evidence.clock_khz or evidence.spec.rate_per_s is not None:
        return None
    drop = max(0.0, 1 - statistics.median(evidence.clock_khz) / highest_khz)
    advice = (
        "the CPUs ran slower than in this server's earlier trials (heat, power limit, turbo or "
        "governor): `deadheat doctor` shows how to fix the clock"
    )
    return at_most("frequency", drop, FREQUENCY_DROP_SHARE_MAX, "share", advice)


def listen_drops(evidence: Evidence) -> Gate | None:
    """No listen queue of this network namespace dropped a connection during the load."""
    drops = evidence.listen_drops
    if drops is None:
        counted = [evidence.counted(name) for name in ("ListenDrops", "ListenOverflows")]
        drops = max((number for number in counted if number is not None), default=None)
    if drops is None:
        return None
    advice = "a listen queue overflowed: raise the server's backlog and net.core.somaxconn"
    return at_most("listen_drops", drops, 0, "count", advice)


def retransmits(evidence: Evidence) -> Gate | None:
    """Lost segments per 10,000 requests; each may stall a connection for 200 ms.

    The engine reads them of its own connections: what it sent again, and what arrived out of order
    because the server's kernel had to send an earlier segment again. What the server's kernel had
    already is no loss: it delays its acknowledgment until the server reads. For wrk and ab, the
    counter of the whole network namespace is read instead, which has other traffic too. A single
    segment passes.
    """
    requests = evidence.result.requests_sent_in_all or evidence.result.requests_ok
    segments = evidence.result.segments_lost
    advice = "segments of its connections were lost: a queue on the way overflowed"
    if segments is None:
        segments = evidence.counted("RetransSegs")
        advice = "segments were lost: a queue overflowed, or the network had other traffic"
    if segments is None or not requests:
        return None
    per_segment = 1e4 / requests
    most = max(RETRANSMITS_PER_10K_MAX, per_segment)
    return at_most("retransmits", segments * per_segment, most, "per_10k", advice)


def network(evidence: Evidence) -> Gate | None:
    """The rate is well below what the null server reaches over the link.

    None on one machine, and for the controls, which are loaded to find such limits.
    """
    if evidence.link is None:
        return None
    share, limit = evidence.link.share(evidence.spec, evidence.result)
    return at_most("network", share, LINK_SHARE_MAX, "share", ADVICE[limit])


def skew(evidence: Evidence) -> Gate | None:
    """The windows of several load hosts overlap: they began at most a tenth of one apart.

    All hosts load during each window, so a skew is no bias. But the rate of the set is the sum of
    rates that are not of quite the same time. None with one load host.
    """
    result = evidence.result
    if result.skew_us is None or not result.elapsed_s:
        return None
    advice = "the load hosts began too far apart: use longer slices (--duration), or hosts nearby"
    window_s = evidence.window_s or result.elapsed_s
    share = result.skew_us / 1e6 / window_s
    return at_most("skew", share, SKEW_SHARE_MAX, "share", advice)


GATES: tuple[Check, ...] = (
    errors,
    served,
    workers,
    little_law,
    achieved,
    client_resources,
    client_cpu,
    client_wait,
    ceiling,
    send_lag,
    steal,
    throttled,
    neighbor,
    frequency,
    listen_drops,
    retransmits,
    network,
    skew,
)

BLOCK_GATES = (steal_of_block, throttled, neighbor)
NOT_OF_SLICES = (client_cpu, ceiling, steal, throttled, neighbor, frequency)
SLICED_GATES = tuple(check for check in GATES if check not in NOT_OF_SLICES)


def judge(evidence: Evidence) -> list[Gate]:
    """All gates with a reading in this trial; `pooled.invalidating` says which make it invalid."""
    return _readings(GATES, evidence)


def judge_slices(evidence: Evidence) -> list[Gate]:
    """The gates of one trial that is made of slices.

    The machine is judged over the block that the slices of all contenders share (`judge_block`),
    the client's limits over all slices of a contender (`pooled`).
    """
    return _readings(SLICED_GATES, evidence)


def judge_block(evidence: Evidence, knows_servers: bool = True) -> list[Gate]:
    """The gates of the machine over one block; they hold for every trial of it alike.

    Unless the CPU time of its servers is known, other processes cannot be told from them.
    """
    checks = [check for check in BLOCK_GATES if knows_servers or check is not neighbor]
    return _readings(checks, evidence)


def judge_load_host(evidence: Evidence, knows_generator: bool) -> list[Gate]:
    """The gates of the machine on a load host over one trial; no server runs there.

    Unless the CPU time of its generator is known, other processes cannot be told from that.
    """
    checks = (steal, throttled, neighbor) if knows_generator else (steal, throttled)
    return on_load_host(_readings(checks, evidence))


def _readings(checks: Iterable[Check], evidence: Evidence) -> list[Gate]:
    return [reading for check in checks if (reading := check(evidence)) is not None]


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
