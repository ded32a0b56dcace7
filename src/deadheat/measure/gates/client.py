"""Gates of the client: whether it, and not the server, limited the rate. See `judge`."""

from deadheat.load import LoadResult
from deadheat.measure.gates.evidence import Evidence, at_most
from deadheat.store import Gate

MORE_LOAD = "use more load threads (--load-threads) or more load hosts (--load-host)"
CLIENT_SHARE_MAX = 0.80
CLIENT_WAIT_SHARE_MAX = 0.05
CEILING_SHARE_MAX = 0.70
SEND_LAG_US_MAX = 100.0
SEND_LAG_SHARE_MAX = 0.05  # of the median response time


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
