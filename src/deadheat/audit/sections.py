"""An audit as a page."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from deadheat.audit.audit import Audit
from deadheat.audit.beside import Level, Line
from deadheat.audit.case import told_agreement
from deadheat.audit.dstat import mean_busy
from deadheat.audit.page import Page, Section
from deadheat.audit.replay import Replay
from deadheat.report import format
from deadheat.report.model.column import Column

MOVED = 5


def audit_page(audit: Audit) -> Page:
    """From the conclusion to the evidence."""
    replay = audit.case.replay
    lines = heading(replay)
    running, rows = len(audit.case.running), len(audit.case.figures.rows)
    lines.insert(1, f"{running} of {format.count(rows, 'published row')} ran here")
    if (origin := replay.protocol.origin) is not None:
        lines.append(f"then: {origin.command}; {origin.server}")
    return Page(
        title=f"{audit.case.figures.name}, then and now",
        heading=tuple(lines),
        command=replay.command,
        sections=tuple(_sections(audit)),
        document=_document(audit),
    )


def heading(replay: Replay) -> list[str]:
    """What was run, when and where."""
    lines = [
        replay.protocol.label,
        f"run {replay.run_id}, {replay.started_at}, {replay.state}",
        *(f"resumed {at}, with fresh processes" for at in replay.resumed),
    ]
    for role, fingerprint in replay.hosts.items():
        cpus = format.ranges(replay.cpus[role])
        lines.append(f"{role}: {format.machine(fingerprint)}, on CPU {cpus}")
    return [*lines, f"{replay.generator_version}, deadheat {replay.deadheat_version}"]


def _sections(audit: Audit) -> Iterator[Section]:
    yield _agreement(audit)
    yield _defects(audit)
    for level in audit.case.levels:
        yield _level(level, audit.case.replay.protocol.aggregate)
    if audit.watched:
        yield _machine(audit)
    yield from _missing(audit)
    yield from _facts(audit)


def _agreement(audit: Audit) -> Section:
    levels = [level for level in audit.case.levels if level.both]
    lines = [
        f"At {level.connections:,} connections: {told_agreement(level.agreement)}. {_moved(level)}"
        for level in levels
    ]
    for connections, found in audit.replays_agree.items():
        lines.append(
            f"Two replays of ours, this one and {audit.against}, at {connections:,} connections: "
            f"{told_agreement(found)}."
        )
    if not audit.replays_agree:
        lines.append(
            "What two replays reach with each other, and so the most that can be expected of a "
            "page: --against RUN."
        )
    note = (
        "Kendall's tau-b over the rows with both figures; its interval is that of Fieller, "
        "Hartley and Pearson (1957), for rows drawn like these."
    )
    return Section("Do they agree?", tuple(lines), notes=(note,))


def _moved(level: Level) -> str:
    moved = [
        f"{line.row} from {line.rank_then} to {line.rank_now}" for line in level.moved_most(MOVED)
    ]
    return f"Moved most: {format.listing(moved)}." if moved else "No row has another rank."


def _defects(audit: Audit) -> Section:
    lines = []
    for defect in audit.defects:
        at = format.listing([f"{connections:,}" for connections in defect.connections])
        rows = format.listing(list(defect.rows)) or "all rows"
        lines.append(
            f"{_upper(defect.title)} ({defect.code}; {rows}; at {at}). "
            f"How it was found: {defect.found}. What it changes: {defect.changes}."
        )
    return Section("What the page is worth: defects found", tuple(lines) or ("None was found.",))


def _level(level: Level, aggregate: str) -> Section:
    def column(header: str, cells: Sequence[str], right: bool = True) -> Column:
        return Column(header, tuple(cells), right)

    lines = level.lines
    table = (
        column("row", [line.row for line in lines], right=False),
        column("then\nreq/s", [format.rate(line.then_per_s) for line in lines]),
        column("now\nreq/s", [format.rate(line.now_per_s) for line in lines]),
        column("now / then", [_ratio(line) for line in lines]),
        column("typical\nrepetition", [_interval(line) for line in lines], right=False),
        column("rank\nthen", [_place(line.rank_then) for line in lines]),
        column("rank\nnow", [_place(line.rank_now) for line in lines]),
        column("contender", [line.contender or format.NONE for line in lines], right=False),
    )
    without = [f"{line.row}: {line.why}" for line in lines if line.contender and line.why]
    note = (
        f"now: the {aggregate} of the repetitions; typical repetition: the 95 % interval of their "
        "geometric mean (Student's t), over the published figure; ranks among the rows with both"
    )
    return Section(f"At {level.connections:,} connections", (), table, (note, *without))


def _machine(audit: Audit) -> Section:
    cpus = {role: format.ranges(cpus) for role, cpus in audit.case.replay.cpus.items()}
    told = "; ".join(f"{role} on CPU {ranges}" for role, ranges in cpus.items())
    rows = audit.watched
    return Section(
        "The machine meanwhile",
        (f"What dstat showed in its day, over the fastest repetition of each row: {told}.",),
        (
            Column("row", tuple(one.row for one in rows), right=False),
            Column("connections", tuple(f"{one.connections:,}" for one in rows)),
            Column(
                "CPU in use, per core\n%",
                tuple(
                    ", ".join(f"{cpu}: {100 * share:.0f}" for cpu, share in busy.items())
                    or format.NONE
                    for busy in (mean_busy(one.seconds) for one in rows)
                ),
                right=False,
            ),
            Column("peak\nMiB", tuple(format.mebibytes(one.memory_peak_bytes) for one in rows)),
        ),
        ("second by second: --format json",),
    )


def _missing(audit: Audit) -> Iterator[Section]:
    running = audit.case.running
    rows = [row for row in audit.case.figures.rows if row not in running]
    if rows:
        faults = {one.row: one.fault for one in audit.case.replay.contenders if one.fault}
        missing = audit.case.replay.missing
        lines = [
            f"{row}: {(faults.get(row) or missing.get(row) or 'not in this run').splitlines()[0]}"
            for row in rows
        ]
        yield Section("Published rows without a figure of today", tuple(lines))


def _facts(audit: Audit) -> Iterator[Section]:
    protocol = audit.case.replay.protocol
    if audit.case.replay.remarks:
        lines = tuple(_upper(remark) for remark in audit.case.replay.remarks)
        yield Section("Not as published, by this machine's limits and settings", lines)
    sources = audit.case.figures.sources
    stated = protocol.origin.sources if protocol.origin else sources
    told = [f"Source: {source}" for source in stated]
    yield Section("Known of the page", (*(_upper(note) for note in protocol.notes), *told))


def _ratio(line: Line) -> str:
    return format.NONE if line.ratio is None else f"{line.ratio:.3f}"


def _interval(line: Line) -> str:
    if line.low is None or line.high is None:
        return format.NONE
    return f"{line.low:.3f}–{line.high:.3f}"


def _place(rank: int | None) -> str:
    return format.NONE if rank is None else str(rank)


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _document(audit: Audit) -> dict[str, Any]:
    """For machines: everything that the sections are made of, and the seconds."""
    case, replay = audit.case, audit.case.replay
    return {
        "schema": "deadheat-audit/1",
        "run": replay.run_id,
        "label": replay.protocol.label,
        "protocol": replay.protocol.model_dump(),
        "command": replay.command,
        "hosts": replay.hosts,
        "figures": case.figures.name,
        "levels": [asdict(level) for level in case.levels],
        "against": audit.against,
        "replays_agree": {
            str(at): asdict(one) if one else None for at, one in audit.replays_agree.items()
        },
        "defects": [asdict(defect) for defect in audit.defects],
        "machine": [asdict(one) for one in audit.watched],
        "missing": dict(replay.missing),
        "remarks": list(replay.remarks),
    }
