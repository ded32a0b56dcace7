"""Defects of the setup: something other than the server was the limit."""

import statistics
from collections.abc import Iterator

from deadheat.audit.case import Case, Defect
from deadheat.audit.replay import Contender
from deadheat.measure.gates.pooled import is_saturated
from deadheat.numbers import listing, percent

TIED_SHARE = 0.02  # rows this close to the fastest are tied
APART_SHARE = 0.10  # tied rows this far apart at another level are a sign of the closed loop
CEILING_SHARE = 0.70  # of the client's rate against the null server


def closed_loop(case: Case) -> Iterator[Defect]:
    """Top rows within 2 % of each other at one level and far apart at a higher one.

    N connections with one request each cannot exceed N / round trip: at that bound all servers
    look alike.
    """
    rates = {
        connections: {
            row: figure.rate_per_s
            for row, figure in case.figures.at(connections).items()
            if figure.rate_per_s
        }
        for connections in case.figures.levels
    }
    for connections, column in rates.items():
        if not column:
            continue
        fastest_per_s = max(column.values())
        tied = [row for row, rate in column.items() if rate >= (1 - TIED_SHARE) * fastest_per_s]
        for other, elsewhere in rates.items():
            known = [elsewhere[row] for row in tied if row in elsewhere]
            if (
                other > connections
                and len(known) > 2
                and min(known) < (1 - APART_SHARE) * max(known)
            ):
                yield Defect(
                    code="closed_loop",
                    title="the closed loop was the limit at one level",
                    rows=tuple(tied),
                    connections=(connections,),
                    found=f"{listing(tied)} are within {percent(TIED_SHARE, 0)} of each other at "
                    f"{connections:,} connections and {percent(1 - min(known) / max(known), 0)} "
                    f"apart at {other:,}",
                    changes=f"{connections:,} connections at {fastest_per_s:,.0f} requests/s take "
                    f"{1000 * connections / fastest_per_s:.2f} ms for each round trip: network and "
                    "client limit the rate, so these rows have no order",
                )
                break


def client(case: Case) -> Iterator[Defect]:
    """Rows of the replay whose rate is near the client's ceiling, and not limited by the server."""
    near: dict[int, dict[str, float]] = {}
    for connections in case.replay.protocol.connections:
        null = case.replay.null_server
        ceiling = null.rates_at(connections) if null else []
        if not ceiling:
            continue
        ceiling_per_s = statistics.median(ceiling)
        rates = {
            row: case.replay.rate(contender, connections)
            for row, contender in case.running.items()
            if not _saturated(case, contender, connections)
        }
        shares = {row: rate / ceiling_per_s for row, rate in rates.items() if rate}
        over = {row: share for row, share in shares.items() if share > CEILING_SHARE}
        if over:
            near[connections] = over
    if not near:
        return
    evidence = [
        f"at {connections:,} connections "
        + listing([f"{row} {percent(share, 0)}" for row, share in over.items()])
        for connections, over in near.items()
    ]
    yield Defect(
        code="client",
        title="some rates are near the client's ceiling",
        rows=tuple(dict.fromkeys(row for over in near.values() for row in over)),
        connections=tuple(near),
        found=f"share of the client's rate against the null server: {'; '.join(evidence)}",
        changes="their rates in the replay are lower bounds, and their order may be the client's",
    )


def _saturated(case: Case, contender: Contender, connections: int) -> bool:
    """Whether the server used all CPUs that it can: then the client did not limit the rate."""
    used = [trial.cpus_used for trial in contender.at(connections) if trial.cpus_used is not None]
    server_cpus = max(len(case.replay.cpus.get("server", ())), 1)
    return bool(used) and is_saturated(statistics.median(used), server_cpus, contender.workers)


def same_machine(case: Case) -> Iterator[Defect]:
    """Client and server on one machine, as the page says."""
    protocol = case.replay.protocol
    if protocol.origin is None or protocol.origin.client_host != "same":
        return
    now = "had the client on another host" if case.replay.links else "keeps them on separate CPUs"
    yield Defect(
        code="same_machine",
        title="client and server on one machine",
        rows=(),
        connections=case.figures.levels,
        found=f"the page says so; the replay {now}",
        changes="client and server compete for the CPUs: the client's cost lowers server rates",
    )
