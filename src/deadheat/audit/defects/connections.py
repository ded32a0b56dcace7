"""Defects of how connections were used: who kept them, and which never got an answer."""

from collections.abc import Iterator

from deadheat.audit.case import Case, Defect, told_agreement
from deadheat.audit.replay import Contender, Trial
from deadheat.report.format import count, listing

CLOSED_SHARE = 0.5  # of the answers that ended with their connection: it was not kept
STARVED_GATES = frozenset({"served", "listen_drops"})


def per_connection(case: Case) -> Iterator[Defect]:
    """Rows measured with a connection per request beside rivals that keep theirs.

    wrk counts an answer that ends with its connection as a read error, so as many read errors as
    requests are its sign; the behaviour card of ours is the cross-check.
    """
    if not case.replay.protocol.keep_alive:
        return
    then = {
        one.row: f"then {one.errors_read:,} read errors in {one.requests:,} requests"
        for one in case.figures.figures
        if one.requests and (one.errors_read or 0) > CLOSED_SHARE * one.requests
    }
    now = {row: sign for row, one in case.running.items() if (sign := _closes(one))}
    rows = tuple(dict.fromkeys([*then, *now]))
    if not rows:
        return
    told = [
        f"{row}: {'; '.join(text for side in (then, now) if (text := side.get(row)))}"
        for row in rows
    ]
    yield Defect(
        code="per_connection",
        title="measured per connection, beside rivals that keep theirs",
        rows=rows,
        connections=case.figures.levels,
        found=". ".join(told),
        changes=f"a connection is made for each of their requests, so their rates compare with "
        f"none of the others; without them, {told_agreement(case.agreement_without(rows))} at "
        f"{case.main.connections:,} connections, with them {told_agreement(case.main.agreement)}",
    )


def _closes(one: Contender) -> str | None:
    requests = sum(trial.requests for trial in one.trials)
    closed = sum(trial.errors.get("read", 0) for trial in one.trials)
    parts = []
    if requests and closed > CLOSED_SHARE * requests:
        parts.append(f"now {closed:,} in {requests:,}")
    if one.behavior.get("keep_alive") is False:
        parts.append(
            "ours closes after each response, which wrk counts as an error only where no header "
            "says so"
        )
    return ", ".join(parts) or None


def unserved(case: Case) -> Iterator[Defect]:
    """Connections that never got an answer, or were dropped before: the level was not the level."""
    then = [
        f"{one.row} at {one.connections:,}: then {count(one.errors_timeout, 'timeout')}"
        for one in case.figures.figures
        if one.errors_timeout
    ]
    now: list[str] = []
    rows: dict[str, None] = {}
    levels: set[int] = {one.connections for one in case.figures.figures if one.errors_timeout}
    for row, one in case.running.items():
        for connections in case.replay.protocol.connections:
            starved = [trial for trial in one.at(connections) if _starved(trial)]
            if starved:
                rows[row] = None
                levels.add(connections)
                now.append(f"{row} at {connections:,}: now {_how(starved)}")
    rows |= {one.row: None for one in case.figures.figures if one.errors_timeout}
    if rows:
        yield Defect(
            code="unserved",
            title="connections that were never served",
            rows=tuple(rows),
            connections=tuple(sorted(levels)),
            found="; ".join([*then, *now]),
            changes="the server had fewer connections to serve than the column says, and those "
            "that wait for nothing are in no latency",
        )


def _starved(trial: Trial) -> bool:
    unanswered = {"timeout", "connect", "connect_timeout", "refused", "stalled"}
    return bool(STARVED_GATES & trial.gates_failed.keys() or unanswered & trial.errors.keys())


def _how(trials: list[Trial]) -> str:
    parts = []
    drops = [trial.gates_failed["listen_drops"] for trial in trials if _dropped(trial)]
    if drops:
        most = max(drop or 0 for drop in drops)
        parts.append(f"up to {most:,.0f} connections dropped from its listen queue in a trial")
    served = [trial.served for trial in trials if trial.served is not None]
    if served and (fewest := min(served)) < trials[0].connections:
        parts.append(f"only {fewest:,} connections were answered")
    timeouts = sum(trial.errors.get("timeout", 0) for trial in trials)
    if timeouts:
        parts.append(count(timeouts, "timeout"))
    return listing(parts) or f"connections without an answer in {count(len(trials), 'trial')}"


def _dropped(trial: Trial) -> bool:
    return "listen_drops" in trial.gates_failed
