"""Defects of the rows: unequal workers, responses or restarts, and unlisted rows."""

import statistics
from collections.abc import Iterator

from deadheat.audit.beside import agree
from deadheat.audit.case import Case, Defect, agreement_text
from deadheat.audit.replay import Trial
from deadheat.numbers import listing

UNEQUAL_SHARE = 0.1  # of the bytes of a response


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


def _cpus(trials: tuple[Trial, ...]) -> float | None:
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
        row: contender.behavior["head_bytes"]
        for row, contender in case.running.items()
        if contender.behavior.get("head_bytes")
    }
    parts = [
        _range("a response then had", then, "bytes"),
        _range("the body then was", {row: float(size) for row, size in bodies}, "bytes"),
        _range("the head of our servers' responses has", now, "bytes"),
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


def _range(what: str, sizes: dict[str, float], unit: str) -> str | None:
    if len(sizes) < 2:
        return None
    least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    if sizes[most] <= (1 + UNEQUAL_SHARE) * sizes[least]:
        return None
    return f"{what} {sizes[least]:.0f} {unit} ({least}) to {sizes[most]:.0f} ({most})"


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
