"""An audit as a page."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from deadheat.audit.audit import Audit
from deadheat.audit.beside import Level, Line
from deadheat.audit.case import agreement_text
from deadheat.audit.dstat import mean_busy
from deadheat.audit.page import Page, Section
from deadheat.audit.placement import SAME_MACHINE, placement_sections
from deadheat.audit.replay import Replay
from deadheat.report import format
from deadheat.report.model.column import Column

MOVED = 5
ONE_REPLAY = (
    "Use --against RUN to compare two replays with each other: a published page cannot be expected "
    "to agree better than they do."
)


def audit_page(audit: Audit) -> Page:
    """The whole audit, from the conclusion to the evidence."""
    replay = audit.case.replay
    lines = heading(replay)
    rows = audit.case.figures.rows
    running = sum(row in audit.case.running for row in rows)
    lines.insert(1, f"{running} of {format.count(len(rows), 'published row')} ran here")
    if (origin := replay.protocol.origin) is not None:
        lines.append(f"published: {origin.command}; {origin.server}")
    return Page(
        title=f"{audit.case.figures.name}, then and now",
        heading=tuple(lines),
        command=replay.command,
        sections=tuple(_sections(audit)),
        document=_document(audit),
    )


def heading(replay: Replay) -> list[str]:
    """What was run, when and where, in lines."""
    lines = [
        replay.protocol.label,
        f"run {replay.run_id}, {replay.started_at}, {replay.state}",
        *(f"resumed {at}, with fresh processes" for at in replay.resumed),
    ]
    for role, fingerprint in replay.hosts.items():
        cpus = format.ranges(replay.cpus[role])
        lines.append(f"{role}: {format.machine(fingerprint)}, on CPU {cpus}")
    if replay.links and replay.is_one_machine:
        lines.append(SAME_MACHINE)
    return [*lines, f"{replay.generator_version}, deadheat {replay.deadheat_version}"]


def _sections(audit: Audit) -> Iterator[Section]:
    yield _agreement(audit)
    if audit.placement is not None:
        yield from placement_sections(audit.placement)
    yield _defects(audit)
    for level in audit.case.levels:
        yield _level(level, audit.case.replay.protocol.aggregate)
    if audit.machine_use:
        yield _machine(audit)
    yield from _missing(audit)
    yield from _facts(audit)


def _agreement(audit: Audit) -> Section:
    rows = [
        (f"published and replay, {_at(level.connections)}", level.agreement, _moved(level))
        for level in audit.case.levels
        if level.both
    ]
    rows += [
        (f"this replay and {audit.against}, {_at(connections)}", agreement, format.NONE)
        for connections, agreement in audit.replays_agree.items()
    ]
    hint = () if audit.replays_agree else (ONE_REPLAY,)
    note = (
        "Kendall's tau-b over the rows with both figures; its interval (Fieller, Hartley and "
        "Pearson, 1957) is for other rows like these."
    )
    table = (
        Column("compared", tuple(row[0] for row in rows), right=False),
        Column(
            "agreement of the ranks", tuple(agreement_text(row[1]) for row in rows), right=False
        ),
        Column("largest changes of rank", tuple(row[2] for row in rows), right=False),
    )
    return Section("Do they agree?", (), table if rows else (), (note, *hint), as_records=True)


def _at(connections: int) -> str:
    return f"at {connections:,} connections"


def _moved(level: Level) -> str:
    moved = [
        f"{line.row} from {line.rank_then} to {line.rank_now}" for line in level.moved_most(MOVED)
    ]
    return "; ".join(moved) or "none"


def _defects(audit: Audit) -> Section:
    defects = audit.defects
    if not defects:
        return Section("Defects", ("No defect was found.",))

    def column(header: str, texts: Iterable[str]) -> Column:
        return Column(header, tuple(texts), right=False)

    table = (
        column("defect", (f"{_capitalized(defect.title)} ({defect.code})" for defect in defects)),
        column("evidence", (defect.found for defect in defects)),
        column("effect", (defect.changes for defect in defects)),
        column("rows", ("; ".join(defect.rows) or "all" for defect in defects)),
        column("connections", (", ".join(f"{at:,}" for at in d.connections) for d in defects)),
    )
    return Section("Defects", (), table, as_records=True)


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
    placement = " and ".join(f"{role} on CPU {ranges}" for role, ranges in cpus.items())
    rows = audit.machine_use
    return Section(
        "CPU and memory during the replay",
        (f"Measured during the fastest repetition of each row; {placement}.",),
        (
            Column("row", tuple(use.row for use in rows), right=False),
            Column("connections", tuple(f"{use.connections:,}" for use in rows)),
            Column(
                "CPU in use, per core\n%",
                tuple(
                    ", ".join(f"{cpu}: {100 * share:.0f}" for cpu, share in busy.items())
                    or format.NONE
                    for busy in (mean_busy(use.seconds) for use in rows)
                ),
                right=False,
            ),
            Column("peak\nMiB", tuple(format.mebibytes(use.memory_peak_bytes) for use in rows)),
        ),
        ("each second: --format json",),
    )


def _missing(audit: Audit) -> Iterator[Section]:
    running = audit.case.running
    rows = [row for row in audit.case.figures.rows if row not in running]
    if rows:
        faults = {
            contender.row: contender.fault
            for contender in audit.case.replay.contenders
            if contender.fault
        }
        missing = audit.case.replay.missing
        reasons = [faults.get(row) or missing.get(row) or "not in this run" for row in rows]
        table = (
            Column("row", tuple(rows), right=False),
            Column("why", tuple(reason.splitlines()[0] for reason in reasons), right=False),
        )
        yield Section("Published rows without a new figure", (), table)


def _facts(audit: Audit) -> Iterator[Section]:
    protocol = audit.case.replay.protocol
    if audit.case.replay.remarks:
        remarks = tuple(_capitalized(remark) for remark in audit.case.replay.remarks)
        yield Section("Differences from the published setup", remarks)
    sources = protocol.origin.sources if protocol.origin else audit.case.figures.sources
    notes = (_capitalized(note) for note in protocol.notes)
    yield Section("Notes on the published page", (*notes, *(f"Source: {s}" for s in sources)))


def _ratio(line: Line) -> str:
    return format.NONE if line.ratio is None else f"{line.ratio:.3f}"


def _interval(line: Line) -> str:
    if line.low is None or line.high is None:
        return format.NONE
    return f"{line.low:.3f}–{line.high:.3f}"


def _place(rank: int | None) -> str:
    return format.NONE if rank is None else str(rank)


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _document(audit: Audit) -> dict[str, Any]:
    """The JSON document: all data behind the sections, and the seconds."""
    case, replay = audit.case, audit.case.replay
    return {
        "schema": "deadheat-audit/1",
        "run": replay.run_id,
        "label": replay.protocol.label,
        "protocol": replay.protocol.model_dump(),
        "command": replay.command,
        "hosts": {role: each.to_json() for role, each in replay.hosts.items()},
        "figures": case.figures.name,
        "levels": [asdict(level) for level in case.levels],
        "against": audit.against,
        "replays_agree": {
            str(at): asdict(agreement) if agreement else None
            for at, agreement in audit.replays_agree.items()
        },
        "placement": audit.placement.to_json() if audit.placement else None,
        "defects": [asdict(defect) for defect in audit.defects],
        "machine": [asdict(agreement) for agreement in audit.machine_use],
        "missing": dict(replay.missing),
        "remarks": list(replay.remarks),
    }
