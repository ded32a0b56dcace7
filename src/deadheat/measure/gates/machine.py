"""Gates of the machine and its kernel: was anything else at work? See `gates`."""

import statistics

from deadheat.measure.gates.evidence import Evidence, at_most
from deadheat.store import Gate

STEAL_SHARE_MAX = 0.01
NEIGHBOUR_SHARE_MAX = 0.05
FREQUENCY_DROP_SHARE_MAX = 0.05
RETRANSMITS_PER_10K_MAX = 1.0

TASK_COUNTERS = 3  # user, nice, system: each is read to one tick a CPU


def steal(evidence: Evidence) -> Gate | None:
    """The hypervisor gave our CPUs' time to nobody else."""
    if (time := evidence.cpu_time) is None:
        return None
    advice = "other guests of this metal took CPU time: measure at another hour, or elsewhere"
    return at_most("steal", time.steal_share, STEAL_SHARE_MAX + time.tick_share, "share", advice)


def neighbor(evidence: Evidence) -> Gate | None:
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
    return at_most("neighbor", share, threshold, "share", advice)


def frequency(evidence: Evidence) -> Gate | None:
    """The server's busy CPUs kept the clock that its own earlier trials at this level had.

    Its own, since a CPU's turbo depends on how many others are busy: a server of one process runs
    at another clock than one of eight, and rightly. In open loop the governor may save power.
    """
    highest_khz = evidence.clock_khz_max
    if highest_khz is None or not evidence.clock_khz or evidence.spec.rate_per_s is not None:
        return None
    drop = max(0.0, 1 - statistics.median(evidence.clock_khz) / highest_khz)
    advice = (
        "the CPUs ran slower than in this server's earlier trials, by heat, power limit, turbo or "
        "governor: `deadheat doctor` says how to fix the clock"
    )
    return at_most("frequency", drop, FREQUENCY_DROP_SHARE_MAX, "share", advice)


def listen_drops(evidence: Evidence) -> Gate | None:
    """No connection was dropped for want of room in a listen queue of this network namespace."""
    drops, overflows = evidence.counted("ListenDrops"), evidence.counted("ListenOverflows")
    if drops is None or overflows is None:
        return None
    advice = (
        "a listen queue overflowed: raise the server's backlog, and net.core.somaxconn above it"
    )
    return at_most("listen_drops", max(drops, overflows), 0, "count", advice)


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
    most = max(RETRANSMITS_PER_10K_MAX, one)
    return at_most("retransmits", segments * one, most, "per_10k", advice)
