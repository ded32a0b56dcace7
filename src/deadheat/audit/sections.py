"""An audit as a page."""

from collections.abc import Iterator
from dataclasses import asdict

from deadheat import numbers
from deadheat.audit.audit import Audit, MachineUse, mean_busy
from deadheat.audit.beside import RowBeside, RowsAtLevel, agreement_text
from deadheat.audit.page import Page, Section
from deadheat.audit.placement import SAME_MACHINE, placement_sections
from deadheat.audit.replay import Replay
from deadheat.report import wording
from deadheat.report.formats.tables import Column, column
from deadheat.strict import JsonObject

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
    lines.insert(1, f"{running} of {numbers.count(len(rows), 'published row')} ran here")
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
        *_lengths(replay),
        f"run {replay.run_id}, {replay.started_at}, {replay.state}",
        *(f"resumed {at}, with fresh processes" for at in replay.resumed),
    ]
    for role, fingerprint in replay.hosts.items():
        cpus = numbers.ranges(replay.cpus[role])
        lines.append(f"{role}: {wording.machine(fingerprint)}, on CPU {cpus}")
    if replay.links and replay.is_one_machine:
        lines.append(SAME_MACHINE)
    return [*lines, f"{replay.generator_version}, deadheat {replay.deadheat_version}"]


def _lengths(replay: Replay) -> Iterator[str]:
    """How long the trials were, and the levels that have no result."""
    protocol = replay.protocol
    scaled = f", {protocol.duration_scale:g} of the published length"
    yield f"trials of {protocol.duration_s:g} s{scaled if protocol.duration_scale != 1 else ''}"
    if empty := [
        f"{level:,}"
        for level in protocol.connections
        if not any(contender.rates_at(level) for contender in replay.contenders)
    ]:
        yield f"no result at {numbers.listing(empty)} connections"


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
        (f"this replay and {audit.against}, {_at(connections)}", agreement, numbers.NONE)
        for connections, agreement in audit.replays_agree.items()
    ]
    hint = () if audit.replays_agree else (ONE_REPLAY,)
    note = (
        "Kendall's tau-b over the rows with both figures; its interval (Fieller, Hartley and "
        "Pearson, 1957) is for other rows like these."
    )
    table = (
        column(rows, "compared", lambda row: row[0], False),
        column(rows, "agreement of the ranks", lambda row: agreement_text(row[1]), False),
        column(rows, "largest changes of rank", lambda row: row[2], False),
    )
    return Section("Do they agree?", (), table if rows else (), (note, *hint), as_records=True)


def _at(connections: int) -> str:
    return f"at {connections:,} connections"


def _moved(level: RowsAtLevel) -> str:
    moved = [
        f"{line.row} from {line.rank_then} to {line.rank_now}" for line in level.moved_most(MOVED)
    ]
    return "; ".join(moved) or "none"


def _defects(audit: Audit) -> Section:
    defects = audit.defects
    if not defects:
        return Section("Defects", ("No defect was found.",))

    table = (
        column(defects, "defect", lambda d: f"{_capitalized(d.title)} ({d.code})", False),
        column(defects, "evidence", lambda d: d.found, False),
        column(defects, "effect", lambda d: d.changes, False),
        column(defects, "rows", lambda d: "; ".join(d.rows) or "all", False),
        column(
            defects, "connections", lambda d: ", ".join(f"{at:,}" for at in d.connections), False
        ),
    )
    return Section("Defects", (), table, as_records=True)


def _level(level: RowsAtLevel, aggregate: str) -> Section:
    lines = level.lines
    table = (
        column(lines, "row", lambda line: line.row, False),
        column(lines, "then\nreq/s", lambda line: numbers.rate(line.then_per_s)),
        column(lines, "now\nreq/s", lambda line: numbers.rate(line.now_per_s)),
        column(lines, "now / then", _ratio),
        column(lines, "typical\nrepetition", _interval, False),
        column(lines, "rank\nthen", lambda line: _place(line.rank_then)),
        column(lines, "rank\nnow", lambda line: _place(line.rank_now)),
        column(lines, "contender", lambda line: line.contender or numbers.NONE, False),
    )
    without = [f"{line.row}: {line.why}" for line in lines if line.contender and line.why]
    note = (
        f"now: the {aggregate} of the repetitions; typical repetition: the 95 % interval of their "
        "geometric mean (Student's t), over the published figure; ranks among the rows with both"
    )
    return Section(f"At {level.connections:,} connections", (), table, (note, *without))


def _machine(audit: Audit) -> Section:
    cpus = {role: numbers.ranges(cpus) for role, cpus in audit.case.replay.cpus.items()}
    placement = " and ".join(f"{role} on CPU {ranges}" for role, ranges in cpus.items())
    rows = audit.machine_use
    return Section(
        "CPU and memory during the replay",
        (f"Measured during the fastest repetition of each row; {placement}.",),
        (
            column(rows, "row", lambda use: use.row, False),
            column(rows, "connections", lambda use: f"{use.connections:,}"),
            column(rows, "CPU in use, per core\n%", _busy, False),
            column(rows, "peak\nMiB", lambda use: numbers.mebibytes(use.memory_peak_bytes)),
        ),
        ("each second: --format json",),
    )


def _busy(use: MachineUse) -> str:
    shares = mean_busy(use.seconds).items()
    return ", ".join(f"{cpu}: {100 * share:.0f}" for cpu, share in shares) or numbers.NONE


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


def _ratio(line: RowBeside) -> str:
    return numbers.NONE if line.ratio is None else f"{line.ratio:.3f}"


def _interval(line: RowBeside) -> str:
    if line.low is None or line.high is None:
        return numbers.NONE
    return f"{line.low:.3f}–{line.high:.3f}"


def _place(rank: int | None) -> str:
    return numbers.NONE if rank is None else str(rank)


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _document(audit: Audit) -> JsonObject:
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
