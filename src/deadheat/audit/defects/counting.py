"""Defects of counting: failures counted as requests, and a cap on requests."""

from collections.abc import Collection, Iterator

from deadheat.audit.beside import Line
from deadheat.audit.case import Case, Defect
from deadheat.audit.replay import Trial
from deadheat.numbers import listing
from deadheat.protocol.figures import Figure

AB_CAP = 50_000  # requests; `ab -t` implies it
REPORTED_SHARE = 0.01  # of the requests; fewer failures are not reported
NAMED = 6


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


def _failed(trial: Trial) -> int:
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
        line
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
        rows = listing(list(dict.fromkeys(line.row for line in now)))
        evidence.append(
            f"at their rates in the replay these rows reach it within {full_s:g} s: {rows}"
        )
    yield Defect(
        code="request_cap",
        title=f"a cap of {AB_CAP:,} requests, which ab -t implies",
        rows=tuple(dict.fromkeys([*(figure.row for figure in then), *(line.row for line in now)])),
        connections=tuple(
            sorted({figure.connections for figure in then} | set(_levels_of(case, now)))
        ),
        found="; ".join(evidence),
        changes=f"the fastest rows are measured for less than the {full_s:g} s that the page "
        "states; --no-request-cap lifts the cap",
    )


def _levels_of(case: Case, lines: Collection[Line]) -> list[int]:
    return [level.connections for level in case.levels if any(line in lines for line in level.both)]
