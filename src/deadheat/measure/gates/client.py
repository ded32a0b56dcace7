"""Gates of the load generator: was it the server that was measured? See `gates`."""

from deadheat.measure.gates.evidence import Evidence, at_most
from deadheat.store import Gate

CLIENT_SHARE_MAX = 0.80
CLIENT_WAIT_SHARE_MAX = 0.05
CEILING_SHARE_MAX = 0.70
SEND_LAG_US_MAX = 100.0
SEND_LAG_SHARE_MAX = 0.05  # of the median response time


def client_limits(evidence: Evidence) -> Gate | None:
    """No request failed because the client had no descriptor or no port left.

    Of the engine only: the others have no class of errors for it.
    """
    if evidence.result.generator != "engine":
        return None
    failed = evidence.limits.get("client_resources", 0)
    advice = "the client ran out of descriptors or ports: `deadheat doctor` says how to widen them"
    return at_most("client_limits", failed, 0, "count", advice)


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
    return at_most("client_cpu", share, CLIENT_SHARE_MAX, "share", advice)


def client_wait(evidence: Evidence) -> Gate | None:
    """The client's threads got a CPU when they wanted one; else the server waits for the client."""
    share = evidence.result.run_wait_share
    if share is None:
        return None
    advice = "the load generator waited for its CPU: end what else runs there"
    return at_most("client_wait", share, CLIENT_WAIT_SHARE_MAX, "share", advice)


def ceiling(evidence: Evidence) -> Gate | None:
    """The rate is well below what the same client reached against the null server."""
    if not evidence.ceiling_per_s or evidence.probes_client:
        return None
    advice = (
        f"the null server gave no more than {evidence.ceiling_per_s:,.0f} requests/s: this rate "
        "may be the client's; more load threads, or a second host"
    )
    share = evidence.result.rate_per_s / evidence.ceiling_per_s
    return at_most("ceiling", share, CEILING_SHARE_MAX, "share", advice)


def send_lag(evidence: Evidence) -> Gate | None:
    """Open loop: with a connection free, requests left when they were meant to, or nearly so."""
    lag_us, median_us = evidence.result.client_lag_us_p99, evidence.result.response_us.get("p50")
    if evidence.spec.rate_per_s is None or lag_us is None:
        return None
    bound_us = max(SEND_LAG_US_MAX, SEND_LAG_SHARE_MAX * (median_us or 0.0))
    advice = "the client sent late: a lower rate, more load threads, or a CPU of its own"
    return at_most("send_lag", lag_us, bound_us, "us", advice)
