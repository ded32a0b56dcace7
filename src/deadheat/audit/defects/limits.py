"""Defects of the instrument: levels at which something else than the server was the limit."""

import statistics
from collections.abc import Iterator

from deadheat.audit.case import Case, Defect
from deadheat.report.format import listing, percent

TIED_SHARE = 0.02  # rows this close at the top
APART_SHARE = 0.10  # that lie this far apart at another level
CEILING_SHARE = 0.70  # of what the client reaches against the null server


def closed_loop(case: Case) -> Iterator[Defect]:
    """The top rows of one level within 2 % of each other, that another level tells apart.

    N connections with one request each can do no more than N / round trip: at that bound every
    server looks alike.
    """
    rates = {
        connections: {
            row: one.rate_per_s
            for row, one in case.figures.at(connections).items()
            if one.rate_per_s
        }
        for connections in case.figures.levels
    }
    for connections, column in rates.items():
        if not column:
            continue
        first = max(column.values())
        tied = [row for row, rate in column.items() if rate >= (1 - TIED_SHARE) * first]
        for other, elsewhere in rates.items():
            known = [elsewhere[row] for row in tied if row in elsewhere]
            if (
                other > connections
                and len(known) > 2
                and min(known) < (1 - APART_SHARE) * max(known)
            ):
                yield Defect(
                    code="closed_loop",
                    title="a level where the closed loop was the limit",
                    rows=tuple(tied),
                    connections=(connections,),
                    found=f"{listing(tied)} lie within {percent(TIED_SHARE, 0)} of each other at "
                    f"{connections:,} connections and {percent(1 - min(known) / max(known), 0)} "
                    f"apart at {other:,}",
                    changes=f"{connections:,} connections over {first:,.0f} requests/s are "
                    f"{1000 * connections / first:.2f} ms a round: network and client set that "
                    "pace, and the order among these rows is none",
                )
                break


def client(case: Case) -> Iterator[Defect]:
    """Rows of the replay that came near what its client reaches against the null server."""
    near: dict[int, dict[str, float]] = {}
    for connections in case.replay.protocol.connections:
        null = case.replay.null_server
        ceiling = null.rates_at(connections) if null else []
        if not ceiling:
            continue
        ceiling_per_s = statistics.median(ceiling)
        rates = {row: case.replay.rate(one, connections) for row, one in case.running.items()}
        shares = {row: rate / ceiling_per_s for row, rate in rates.items() if rate}
        over = {row: share for row, share in shares.items() if share > CEILING_SHARE}
        if over:
            near[connections] = over
    if not near:
        return
    told = [
        f"at {connections:,} connections "
        + listing([f"{row} {percent(share, 0)}" for row, share in over.items()])
        for connections, over in near.items()
    ]
    yield Defect(
        code="client",
        title="rows bounded by the client of the replay",
        rows=tuple(dict.fromkeys(row for over in near.values() for row in over)),
        connections=tuple(near),
        found=f"of what the same client reached against the null server: {'; '.join(told)}",
        changes="their rates of today are lower bounds, and their order may be that of the client",
    )


def same_machine(case: Case) -> Iterator[Defect]:
    """Client and server on one machine: then by the page's own word, or now."""
    protocol = case.replay.protocol
    if protocol.origin is None or protocol.origin.client_host != "same":
        return
    yield Defect(
        code="same_machine",
        title="client and server on one machine",
        rows=(),
        connections=case.figures.levels,
        found="the page says so; the replay keeps them on CPUs of their own",
        changes="what the client takes the server lacks: the slower client's rows suffer most "
        "where CPUs are shared",
    )
