"""Gates of the machine and its kernel: whether something else disturbed the trial. See `judge`."""

import statistics

from deadheat.measure.gates.evidence import Evidence, at_most
from deadheat.store import Gate

STEAL_SHARE_MAX = 0.01
STEAL_SHARE_OF_BLOCK_MAX = 0.05  # as for other processes
NEIGHBOR_SHARE_MAX = 0.05
FREQUENCY_DROP_SHARE_MAX = 0.05
RETRANSMITS_PER_10K_MAX = 1.0

TASK_COUNTERS = 3  # user, nice, system; the resolution of each is one tick per CPU


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
