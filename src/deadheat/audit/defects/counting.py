"""Defects of counting: what was taken for a request, and where the counting ended."""

from collections.abc import Collection, Iterator

from deadheat.audit.beside import Line
from deadheat.audit.case import Case, Defect
from deadheat.audit.replay import Trial
from deadheat.protocol.figures import Figure
from deadheat.report.format import listing

AB_CAP = 50_000  # what `ab -t` implies
WORTH_TELLING = 0.01  # of the requests
NAMED = 6


def errors_counted(case: Case) -> Iterator[Defect]:
    """Requests that failed and are in the published rate all the same.

    ab counts an exception, and an answer of the wrong length, as a complete request. A read error
    of wrk is left to `per_connection` where it is the end of a right answer.
    """
    then = [
        (one, honest)
        for ones in case.published_repetitions().values()
        for one in ones
        if one.row in case.figures.rows
        and (honest := _honest_rate(one)) is not None
        and one.rate_per_s
        and honest < (1 - WORTH_TELLING) * one.rate_per_s
    ]
    now = [
        (row, trial)
        for row, one in case.running.items()
        for trial in one.trials
        if trial.requests and _failed(trial) > WORTH_TELLING * trial.requests
    ]
    if not then and not now:
        return
    then.sort(key=lambda case: case[1] / (case[0].rate_per_s or 1))
    now.sort(key=lambda case: -_failed(case[1]) / case[1].requests)
    told = [
        f"then {one.row} at {one.connections:,}, repetition {one.repetition}: "
        f"{one.rate_per_s:,.0f} requests/s printed, {honest:,.0f} were whole"
        for one, honest in then[:NAMED]
    ]
    told += [
        f"now {row} at {trial.connections:,}, repetition {trial.repetition}: "
        f"{_failed(trial):,} of {trial.requests:,} failed"
        for row, trial in now[:NAMED]
    ]
    rest = max(0, len(then) - NAMED) + max(0, len(now) - NAMED)
    yield Defect(
        code="errors_counted",
        title="errors counted as requests",
        rows=tuple(dict.fromkeys([*(one.row for one, _ in then), *(row for row, _ in now)])),
        connections=tuple(
            sorted({one.connections for one, _ in then} | {t.connections for _, t in now})
        ),
        found="; ".join(told) + (f"; and {rest} more repetitions" if rest else ""),
        changes="a server that fails fast gains rate by it",
    )


def _honest_rate(one: Figure) -> float | None:
    """Requests/s of whole answers: by their bytes where these are published, and never more than
    the requests without an exception."""
    if one.requests is None or not one.duration_s or not one.exceptions:
        return None
    whole = one.requests - one.exceptions
    if one.body_bytes and one.bodies_bytes is not None:
        whole = min(whole, one.bodies_bytes // one.body_bytes)
    return max(0, whole) / one.duration_s


def _failed(trial: Trial) -> int:
    return sum(number for name, number in trial.errors.items() if name != "read")


def request_cap(case: Case) -> Iterator[Defect]:
    """A cap on requests that a trial reached, so that it ended before its time."""
    protocol = case.replay.protocol
    if protocol.origin is None or "ab -t" not in protocol.origin.command:
        return
    full_s = protocol.duration_s / protocol.duration_scale
    then = [
        one
        for ones in case.published_repetitions().values()
        for one in ones
        if one.requests is not None and one.requests >= AB_CAP and one.duration_s
    ]
    now = [
        line
        for level in case.levels
        for line in level.both
        if line.now_per_s and line.now_per_s * full_s > AB_CAP
    ]
    if not then and not now:
        return
    told = []
    if then:
        shortest = min(one.duration_s or full_s for one in then)
        rows = listing(list(dict.fromkeys(one.row for one in then)))
        told.append(f"then {len(then)} repetitions of {rows} ended there, after {shortest:.1f} s")
    if now:
        rows = listing(list(dict.fromkeys(line.row for line in now)))
        told.append(f"at their rates of today these reach it within {full_s:g} s: {rows}")
    yield Defect(
        code="request_cap",
        title=f"a cap of {AB_CAP:,} requests, which ab -t implies",
        rows=tuple(dict.fromkeys([*(one.row for one in then), *(line.row for line in now)])),
        connections=tuple(sorted({one.connections for one in then} | set(_levels_of(case, now)))),
        found="; ".join(told),
        changes=f"the fastest rows are measured for less than the {full_s:g} s that the page "
        "names; --no-request-cap lifts it",
    )


def _levels_of(case: Case, lines: Collection[Line]) -> list[int]:
    return [one.connections for one in case.levels if any(line in lines for line in one.both)]
