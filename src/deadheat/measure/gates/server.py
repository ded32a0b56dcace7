"""Gates of the server: whether it answered every request. See `judge`."""

from deadheat.measure.gates.evidence import Evidence, at_most, gate
from deadheat.store import Gate

LITTLE_ERROR_MAX = 0.05
ACHIEVED_SHARE_MIN = 0.99


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
    """Closed loop: requests in flight fill the connections (Little, 1961: N = X R).

    Read from the engine only, which adds up the time of each request; wrk rewrites its latencies
    and ab rounds them to milliseconds. Of a request that overlaps an end of the trial, the time
    inside counts.
    """
    result = evidence.result
    if result.little_law_error is None or evidence.spec.rate_per_s is not None:
        return None
    error = abs(result.little_law_error)
    advice = "connections were idle or starved, or time passed inside the client"
    return at_most("little_law", error, LITTLE_ERROR_MAX, "share", advice)


def achieved(evidence: Evidence) -> Gate | None:
    """Open loop: the achieved rate is the offered rate, while requests were offered.

    Read from the series, because the rate also counts late answers: those of a server that falls
    behind arrive while the generator waits for the rest. Requests that may be in flight when the
    window ends are those of one service time.
    """
    result = evidence.result
    rows = [row for row in result.series if row["at_s"] <= result.elapsed_s + 1e-6]
    if evidence.spec.rate_per_s is None or not result.offered_rate_per_s or not rows:
        return None
    until_s = rows[-1]["at_s"]
    share = sum(row["ok"] for row in rows) / until_s / result.offered_rate_per_s
    in_flight = (result.service_us.get("mean") or 0.0) / 1e6 / until_s
    advice = "the server did not keep up with the offered rate, so its latency is unbounded"
    least = ACHIEVED_SHARE_MIN - in_flight
    return gate("achieved", share >= least, share, least, "share", advice)
