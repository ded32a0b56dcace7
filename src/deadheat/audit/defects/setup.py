"""Defects of the setup: what else was the limit, and rows that are not alike or not listed."""

import statistics
from collections.abc import Iterator

from deadheat.audit.beside import Case, agree, agreement_text
from deadheat.audit.replay import ReplayedContender, ReplayedTrial
from deadheat.measure.gates.pooled import is_saturated
from deadheat.numbers import listing, percent
from deadheat.report.model.evidence import Defect

TIED_SHARE = 0.02  # rows this close to the fastest are tied
APART_SHARE = 0.10  # tied rows this far apart at another level are a sign of the closed loop
CEILING_SHARE = 0.70  # of the client's rate against the null server
UNEQUAL_SHARE = 0.1  # of the bytes of a response


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


def _saturated(case: Case, contender: ReplayedContender, connections: int) -> bool:
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


def workers(case: Case) -> Iterator[Defect]:
    """Rows with different worker counts."""
    by_count: dict[int, list[str]] = {}
    for row, contender in case.running.items():
        by_count.setdefault(contender.workers, []).append(row)
    if len(by_count) < 2:
        return
    level = case.main.connections
    used = {
        row: cpus for row, contender in case.running.items() if (cpus := _cpus(contender.at(level)))
    }
    parts = [f"{n}: {listing(rows)}" for n, rows in sorted(by_count.items())]
    changes = "a row depends on its worker count as much as on its server"
    if len(used) > 1:
        rates = [line for line in case.main.both if line.row in used]
        per_cpu = agree(
            [line.now_per_s or 0.0 for line in rates],
            [(line.now_per_s or 0.0) / used[line.row] for line in rates],
        )
        least, most = min(used, key=used.__getitem__), max(used, key=used.__getitem__)
        changes += (
            f": at {level:,} connections the servers used from {used[least]:.2f} CPUs ({least}) to "
            f"{used[most]:.2f} ({most}); the order by rate and the order by rate "
            f"per CPU have {agreement_text(per_cpu)}"
        )
    yield Defect(
        code="workers",
        title="unequal worker counts",
        rows=(),
        connections=case.figures.levels,
        found="worker counts, published and replayed: " + "; ".join(parts),
        changes=changes,
    )


def _cpus(trials: tuple[ReplayedTrial, ...]) -> float | None:
    used = [trial.cpus_used for trial in trials if trial.cpus_used]
    return statistics.median(used) if used else None


def payload(case: Case) -> Iterator[Defect]:
    """Responses of unequal length: responses and bodies then, heads now."""
    then = {
        figure.row: figure.bytes_read / figure.requests
        for figure in case.figures.figures
        if figure.bytes_read and figure.requests
    }
    bodies = {
        (figure.row, figure.body_bytes)
        for figure in (case.repetitions.figures if case.repetitions else ())
        if figure.body_bytes
    }
    now = {
        row: float(contender.behavior.head_bytes)
        for row, contender in case.running.items()
        if contender.behavior.head_bytes
    }
    parts = [
        _range("a response then had", then),
        _range("the body then was", {row: float(size) for row, size in bodies}),
        _range("the head of our servers' responses has", now),
    ]
    if not (evidence := [part for part in parts if part]):
        return
    yield Defect(
        code="payload",
        title="unequal bodies and heads",
        rows=(),
        connections=case.figures.levels,
        found="; ".join(evidence),
        changes="a short head is less work for client and server, so a server gains by leaving out "
        "Date or Content-Type. In the replay every body is the same 13 bytes of the same media "
        "type, and each server sends its usual head",
    )


def _range(what: str, sizes: dict[str, float]) -> str | None:
    if len(sizes) < 2:
        return None
    least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    if sizes[most] <= (1 + UNEQUAL_SHARE) * sizes[least]:
        return None
    return f"{what} {sizes[least]:.0f} bytes ({least}) to {sizes[most]:.0f} ({most})"


def restarts(case: Case) -> Iterator[Defect]:
    """Some rows had a fresh process for each repetition, others one process for all."""
    apart = case.replay.protocol.restarts
    if not apart:
        return
    yield Defect(
        code="restarts",
        title="only some servers were restarted between repetitions",
        rows=tuple(apart),
        connections=case.figures.levels,
        found="the page says so, and the replay did the same",
        changes="a loss from trial to trial is hidden in these rows and visible in the others; "
        "`deadheat run --protocol decay` restarts no server between trials",
    )


def missing_rows(case: Case) -> Iterator[Defect]:
    """Rows that were measured and are missing from the table."""
    if case.repetitions is None:
        return
    rows = tuple(row for row in case.repetitions.rows if row not in case.figures.rows)
    if rows:
        yield Defect(
            code="missing_rows",
            title="measured but missing from the table",
            rows=rows,
            connections=case.figures.levels,
            found="the repetitions are published, the rows are not",
            changes="the table leaves out the slowest servers",
        )
