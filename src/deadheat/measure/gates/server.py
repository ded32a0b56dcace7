"""Gates of the server: did it answer everything it was asked? See `gates`."""

from deadheat.measure.gates.evidence import Evidence, at_most, gate
from deadheat.store import Gate

LITTLE_ERROR_MAX = 0.05
ACHIEVED_SHARE_MIN = 0.99


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
    return at_most("errors", result.errors_total, 0, "count", advice)


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
    return gate("served", seen >= wanted, seen, wanted, "count", advice)


def little_law(evidence: Evidence) -> Gate | None:
    """Closed loop: requests under way fill the connections (Little, 1961: N = X R).

    Of the engine only, which adds up the time of each measured request: wrk rewrites its latencies
    and ab rounds them to milliseconds. A request that overlaps an end of the trial is counted
    whole or not at all, which moves the sum by at most one service time of each connection.
    """
    result, mean_us = evidence.result, evidence.result.service_us.get("mean")
    if result.little_law_error is None or evidence.spec.rate_per_s is not None or mean_us is None:
        return None
    off = abs(result.little_law_error)
    advice = "connections were idle or starved, or time passed inside the client"
    edges = mean_us / 1e6 / result.elapsed_s
    return at_most("little_law", off, LITTLE_ERROR_MAX + edges, "share", advice)


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
    return gate("achieved", share >= least, share, least, "share", advice)
