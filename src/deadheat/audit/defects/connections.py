"""Defects in the use of connections: rows that did not keep them, and unserved connections."""

from collections.abc import Iterator

from deadheat.audit.case import Case, Defect, agreement_text
from deadheat.audit.replay import Contender, Trial
from deadheat.numbers import count, listing

CLOSED_SHARE = 0.5  # of the answers ended their connection: above it, none was kept
STARVED_GATES = frozenset({"served", "listen_drops"})


def per_connection(case: Case) -> Iterator[Defect]:
    """Rows with a connection for each request, beside rows that keep theirs.

    wrk counts an answer that ends its connection as a read error, so as many read errors as
    requests are the sign. How our server behaves is the cross-check.
    """
    if not case.replay.protocol.keep_alive:
        return
    then = {
        figure.row: f"then {figure.errors_read:,} read errors in {figure.requests:,} requests"
        for figure in case.figures.figures
        if figure.requests and (figure.errors_read or 0) > CLOSED_SHARE * figure.requests
    }
    now = {row: sign for row, contender in case.running.items() if (sign := _closes(contender))}
    rows = tuple(dict.fromkeys([*then, *now]))
    if not rows:
        return
    evidence = [
        f"{row}: {'; '.join(text for side in (then, now) if (text := side.get(row)))}"
        for row in rows
    ]
    yield Defect(
        code="per_connection",
        title="some rows use a new connection for each request",
        rows=rows,
        connections=case.figures.levels,
        found=". ".join(evidence),
        changes=f"their rates include the cost of connecting, so they are not comparable with the "
        f"others; at {case.main.connections:,} connections the agreement without these rows is "
        f"{agreement_text(case.agreement_without(rows))}, with them "
        f"{agreement_text(case.main.agreement)}",
    )


def _closes(contender: Contender) -> str | None:
    requests = sum(trial.requests for trial in contender.trials)
    closed = sum(trial.errors.get("read", 0) for trial in contender.trials)
    parts = []
    if requests and closed > CLOSED_SHARE * requests:
        parts.append(f"now {closed:,} in {requests:,}")
    if contender.behavior.get("keep_alive") is False:
        parts.append(
            "our server closes after each response, which wrk counts as an error only if no header "
            "announces it"
        )
    return ", ".join(parts) or None


def unserved(case: Case) -> Iterator[Defect]:
    """Connections that never got an answer or were dropped: the load was below its level."""
    then = [
        f"{figure.row} at {figure.connections:,}: then {count(figure.errors_timeout, 'timeout')}"
        for figure in case.figures.figures
        if figure.errors_timeout
    ]
    now: list[str] = []
    rows: dict[str, None] = {}
    levels: set[int] = {
        figure.connections for figure in case.figures.figures if figure.errors_timeout
    }
    for row, contender in case.running.items():
        for connections in case.replay.protocol.connections:
            starved = [trial for trial in contender.at(connections) if _starved(trial)]
            if starved:
                rows[row] = None
                levels.add(connections)
                now.append(f"{row} at {connections:,}: now {_starvation_text(starved)}")
    rows |= {figure.row: None for figure in case.figures.figures if figure.errors_timeout}
    if rows:
        yield Defect(
            code="unserved",
            title="some connections were never served",
            rows=tuple(rows),
            connections=tuple(sorted(levels)),
            found="; ".join([*then, *now]),
            changes="the server served fewer connections than the column says, and the latencies "
            "leave out those that waited in vain",
        )


def _starved(trial: Trial) -> bool:
    unanswered = {"timeout", "connect", "connect_timeout", "refused", "stalled"}
    return bool(STARVED_GATES & trial.gates_failed.keys() or unanswered & trial.errors.keys())


def _starvation_text(trials: list[Trial]) -> str:
    parts = []
    drops = [trial.gates_failed["listen_drops"] for trial in trials if _dropped(trial)]
    if drops:
        most = max(drop or 0 for drop in drops)
        parts.append(f"up to {most:,.0f} connections in a trial dropped from its listen queue")
    served = [trial.served for trial in trials if trial.served is not None]
    if served and (fewest := min(served)) < trials[0].connections:
        parts.append(f"only {fewest:,} connections answered")
    timeouts = sum(trial.errors.get("timeout", 0) for trial in trials)
    if timeouts:
        parts.append(count(timeouts, "timeout"))
    return listing(parts) or f"connections without an answer in {count(len(trials), 'trial')}"


def _dropped(trial: Trial) -> bool:
    return "listen_drops" in trial.gates_failed
