"""Defects of the rows: what they were given, and what they sent, was not the same."""

import statistics
from collections.abc import Iterator

from deadheat.audit.beside import agree
from deadheat.audit.case import Case, Defect, told_agreement
from deadheat.audit.replay import Trial
from deadheat.report.format import listing

UNEQUAL_SHARE = 0.1  # of the bytes of a response


def workers(case: Case) -> Iterator[Defect]:
    """Rows with one worker beside rows with several."""
    by_count: dict[int, list[str]] = {}
    for row, one in case.running.items():
        by_count.setdefault(one.workers, []).append(row)
    if len(by_count) < 2:
        return
    level = case.main.connections
    used = {row: cpus for row, one in case.running.items() if (cpus := _cpus(one.at(level)))}
    parts = [f"{n}: {listing(rows)}" for n, rows in sorted(by_count.items())]
    changes = "a row says as much of its worker count as of its server"
    if len(used) > 1:
        rates = [line for line in case.main.both if line.row in used]
        per_cpu = agree(
            [line.now_per_s or 0.0 for line in rates],
            [(line.now_per_s or 0.0) / used[line.row] for line in rates],
        )
        least, most = min(used, key=used.__getitem__), max(used, key=used.__getitem__)
        changes += (
            f": at {level:,} connections the servers used between {used[least]:.2f} CPUs "
            f"({least}) and {used[most]:.2f} ({most}); the order by rate and the order by rate "
            f"per CPU have {told_agreement(per_cpu)}"
        )
    yield Defect(
        code="workers",
        title="unequal worker counts",
        rows=(),
        connections=case.figures.levels,
        found="workers as published, which is how they ran here: " + "; ".join(parts),
        changes=changes,
    )


def _cpus(trials: tuple[Trial, ...]) -> float | None:
    used = [trial.cpus_used for trial in trials if trial.cpus_used]
    return statistics.median(used) if used else None


def payload(case: Case) -> Iterator[Defect]:
    """Responses of unequal length: bodies then, head bytes then and now."""
    then = {
        one.row: one.bytes_read / one.requests
        for one in case.figures.figures
        if one.bytes_read and one.requests
    }
    bodies = {
        (one.row, one.body_bytes)
        for one in (case.repetitions.figures if case.repetitions else ())
        if one.body_bytes
    }
    now = {
        row: one.behavior["head_bytes"]
        for row, one in case.running.items()
        if one.behavior.get("head_bytes")
    }
    parts = [
        _range("a response then took", then, "bytes"),
        _range("the body then was", {row: float(size) for row, size in bodies}, "bytes"),
        _range("the head of ours takes", now, "bytes"),
    ]
    if not (told := [part for part in parts if part]):
        return
    yield Defect(
        code="payload",
        title="unequal bodies and heads",
        rows=(),
        connections=case.figures.levels,
        found="; ".join(told),
        changes="a short head is less work for both ends, and a server that leaves Date or "
        "Content-Type out is credited for it. Here every body is the same 13 bytes, of the same "
        "media type, and the heads are each server's own",
    )


def _range(what: str, sizes: dict[str, float], unit: str) -> str | None:
    if len(sizes) < 2:
        return None
    least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    if sizes[most] <= (1 + UNEQUAL_SHARE) * sizes[least]:
        return None
    return f"{what} {sizes[least]:.0f} {unit} ({least}) to {sizes[most]:.0f} ({most})"


def restarts(case: Case) -> Iterator[Defect]:
    """Some rows had a fresh process for each repetition, others one for all."""
    apart = case.replay.protocol.restarts
    if not apart:
        return
    yield Defect(
        code="restarts",
        title="some were restarted between repetitions, others were not",
        rows=tuple(apart),
        connections=case.figures.levels,
        found="the page says so, and the replay did the same",
        changes="what a server loses from trial to trial is hidden in these rows and kept in the "
        "others; `deadheat run --protocol decay` restarts none of them",
    )


def untold(case: Case) -> Iterator[Defect]:
    """Rows that were measured and stand in no table."""
    if case.repetitions is None:
        return
    rows = tuple(row for row in case.repetitions.rows if row not in case.figures.rows)
    if rows:
        yield Defect(
            code="untold",
            title="measured, and in no table",
            rows=rows,
            connections=case.figures.levels,
            found="its repetitions are published, its row is not",
            changes="the table ends where it was made to end: the slowest are not in it",
        )
