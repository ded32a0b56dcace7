"""Defects of counting: failures counted as requests, a cap on requests, and connections that were
not kept or not served.
"""

from collections.abc import Iterator

from deadheat.audit.beside import Case, agreement_text
from deadheat.audit.replay import ReplayedContender, ReplayedTrial
from deadheat.numbers import count, listing
from deadheat.protocol.figures import Figure
from deadheat.report.model.evidence import Defect

AB_CAP = 50_000  # requests; `ab -t` implies it
REPORTED_SHARE = 0.01  # of the requests; fewer failures are not reported
NAMED = 6
CLOSED_SHARE = 0.5  # of the answers ended their connection: above it, none was kept
STARVED_GATES = frozenset({"served", "listen_drops"})


def errors_counted(case: Case) -> Iterator[Defect]:
    """Failed requests that the published rate includes.

    ab counts an exception, or an answer of the wrong length, as a complete request. A read error
    of wrk can be the end of a right answer: `per_connection` looks at those.
    """
    then = [
        (figure, honest)
        for repetitions in case.published_repetitions().values()
        for figure in repetitions
        if figure.row in case.figures.rows
        and (honest := _honest_rate(figure)) is not None
        and figure.rate_per_s
        and honest < (1 - REPORTED_SHARE) * figure.rate_per_s
    ]
    now = [
        (row, trial)
        for row, contender in case.running.items()
        for trial in contender.trials
        if trial.requests and _failed(trial) > REPORTED_SHARE * trial.requests
    ]
    if not then and not now:
        return
    then.sort(key=lambda case: case[1] / (case[0].rate_per_s or 1))
    now.sort(key=lambda case: -_failed(case[1]) / case[1].requests)
    evidence = [
        f"then {figure.row} at {figure.connections:,}, repetition {figure.repetition}: "
        f"{figure.rate_per_s:,.0f} requests/s printed, {honest:,.0f} of them complete"
        for figure, honest in then[:NAMED]
    ]
    evidence += [
        f"now {row} at {trial.connections:,}, repetition {trial.repetition}: "
        f"{_failed(trial):,} of {trial.requests:,} failed"
        for row, trial in now[:NAMED]
    ]
    rest = max(0, len(then) - NAMED) + max(0, len(now) - NAMED)
    yield Defect(
        code="errors_counted",
        title="errors counted as requests",
        rows=tuple(dict.fromkeys([*(figure.row for figure, _ in then), *(row for row, _ in now)])),
        connections=tuple(
            sorted({figure.connections for figure, _ in then} | {t.connections for _, t in now})
        ),
        found="; ".join(evidence) + (f"; and {rest} more repetitions" if rest else ""),
        changes="failing fast raises a server's rate",
    )


def _honest_rate(figure: Figure) -> float | None:
    """Requests/s with a complete answer, or None if that is not published.

    It comes from the bytes of the bodies if these are published, and is at most the rate of
    requests without an exception.
    """
    if figure.requests is None or not figure.duration_s or not figure.exceptions:
        return None
    whole = figure.requests - figure.exceptions
    if figure.body_bytes and figure.bodies_bytes is not None:
        whole = min(whole, figure.bodies_bytes // figure.body_bytes)
    return max(0, whole) / figure.duration_s


def _failed(trial: ReplayedTrial) -> int:
    return sum(number for name, number in trial.errors.items() if name != "read")


def request_cap(case: Case) -> Iterator[Defect]:
    """A cap on requests that ended a trial early."""
    protocol = case.replay.protocol
    if protocol.origin is None or "ab -t" not in protocol.origin.command:
        return
    full_s = protocol.duration_s / protocol.duration_scale
    then = [
        figure
        for repetitions in case.published_repetitions().values()
        for figure in repetitions
        if figure.requests is not None and figure.requests >= AB_CAP and figure.duration_s
    ]
    now = [
        (level.connections, line)
        for level in case.levels
        for line in level.both
        if line.now_per_s and line.now_per_s * full_s > AB_CAP
    ]
    if not then and not now:
        return
    evidence = []
    if then:
        shortest = min(figure.duration_s or full_s for figure in then)
        rows = listing(list(dict.fromkeys(figure.row for figure in then)))
        evidence.append(
            f"then {len(then)} repetitions of {rows} ended at the cap, the shortest "
            f"after {shortest:.1f} s"
        )
    if now:
        rows = listing(list(dict.fromkeys(line.row for _, line in now)))
        evidence.append(
            f"at their rates in the replay these rows reach it within {full_s:g} s: {rows}"
        )
    yield Defect(
        code="request_cap",
        title=f"a cap of {AB_CAP:,} requests, which ab -t implies",
        rows=tuple(
            dict.fromkeys([*(figure.row for figure in then), *(line.row for _, line in now)])
        ),
        connections=tuple(
            sorted(
                {figure.connections for figure in then} | {connections for connections, _ in now}
            )
        ),
        found="; ".join(evidence),
        changes=f"the fastest rows are measured for less than the {full_s:g} s that the page "
        "states; --no-request-cap lifts the cap",
    )


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


def _closes(contender: ReplayedContender) -> str | None:
    requests = sum(trial.requests for trial in contender.trials)
    closed = sum(trial.errors.get("read", 0) for trial in contender.trials)
    parts = []
    if requests and closed > CLOSED_SHARE * requests:
        parts.append(f"now {closed:,} in {requests:,}")
    if contender.behavior.keep_alive is False:
        parts.append(
            "our server closes after each response, which wrk counts as an error only if no header "
            "announces it"
        )
    return ", ".join(parts) or None


def unserved(case: Case) -> Iterator[Defect]:
    """Connections that never got an answer or were dropped: the load was below its level."""
    then = [
        (figure.row, figure.connections, f"then {count(figure.errors_timeout, 'timeout')}")
        for figure in case.figures.figures
        if figure.errors_timeout
    ]
    now = [
        (row, connections, f"now {_starvation_text(starved)}")
        for row, contender in case.running.items()
        for connections in case.replay.protocol.connections
        if (starved := [trial for trial in contender.at(connections) if _starved(trial)])
    ]
    if then or now:
        yield Defect(
            code="unserved",
            title="some connections were never served",
            rows=tuple(dict.fromkeys(row for row, _, _ in [*now, *then])),
            connections=tuple(sorted({connections for _, connections, _ in [*now, *then]})),
            found="; ".join(f"{row} at {at:,}: {what}" for row, at, what in [*then, *now]),
            changes="the server served fewer connections than the column says, and the latencies "
            "leave out those that waited in vain",
        )


def _starved(trial: ReplayedTrial) -> bool:
    unanswered = {"timeout", "connect", "connect_timeout", "refused", "stalled"}
    return bool(STARVED_GATES & trial.gates_failed.keys() or unanswered & trial.errors.keys())


def _starvation_text(trials: list[ReplayedTrial]) -> str:
    parts = []
    gate = "listen_drops"
    drops = [trial.gates_failed[gate] or 0 for trial in trials if gate in trial.gates_failed]
    if drops:
        most = max(drops)
        parts.append(f"up to {most:,.0f} connections in a trial dropped from its listen queue")
    served = [trial.served for trial in trials if trial.served is not None]
    if served and (fewest := min(served)) < trials[0].connections:
        parts.append(f"only {fewest:,} connections answered")
    timeouts = sum(trial.errors.get("timeout", 0) for trial in trials)
    if timeouts:
        parts.append(count(timeouts, "timeout"))
    return listing(parts) or f"connections without an answer in {count(len(trials), 'trial')}"
