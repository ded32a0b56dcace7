"""All checks of all boards, and the figures of the page's pictures."""

from collections.abc import Iterator, Sequence

from deadheat.boards.checks import composite, counts, load, order, repeats
from deadheat.boards.checks.beside import Names, OwnRun, beside, read_names
from deadheat.boards.model import LiveBoard, Table
from deadheat.boards.readings import FORMAT, BoardFacts, BoardFinding, Readings
from deadheat.boards.words import SOURCES
from deadheat.errors import DeadheatError
from deadheat.report.findings.analysis import analyze
from deadheat.report.model.view import RunView

ENTRIES_MIN = 2


def audit_boards(
    boards: Sequence[LiveBoard],
    own: OwnRun | None = None,
    names: Names | None = None,
    options: Sequence[str] = (),
) -> Readings:
    """All readings; with `own`, also beside that run. `options` are those of the command."""
    files = [name for board in boards for name in board.files]
    servers = {} if own is None else read_names() if names is None else names
    findings: list[BoardFinding] = []
    besides: list[BoardFinding] = []
    ranks, repeated, rates = [], [], []
    for board in boards:
        repeated_by_profile = repeats.repeats_of(board)
        noises = repeats.noises_of(repeated_by_profile)
        for table in board.tables:
            if len(table.rated) < ENTRIES_MIN:
                continue
            noise = noises.get(table.profile)
            of_profile = repeated_by_profile[table.profile]
            of_table = [*_of_table(table, of_profile, noise)]
            findings += of_table
            crowd = next((finding for finding in of_table if finding.code == "plateau"), None)
            rates.append(load.rates_of(table, crowd))
            repeated.append(repeats.picture(table, of_profile))
            if noise is not None:
                ranks.append(order.picture(table, noise))
            if own and (finding := beside(table, own, servers, noise)) is not None:
                besides.append(finding)
        if (whole := composite.composite(board, noises)) is not None:
            findings.append(whole)
    return Readings(
        format=FORMAT,
        made_by=("deadheat", "audit", *files, *options),
        boards=tuple(map(_facts, boards)),
        findings=(*findings, *besides),
        ranks=tuple(ranks),
        repeats=tuple(each for each in repeated if each.ratios),
        rates=tuple(rates),
    )


def _of_table(
    table: Table, own: Sequence[repeats.Repeat], noise: repeats.Noise | None
) -> Iterator[BoardFinding]:
    results = (
        repeats.repeats(table, own, noise),
        order.survives(table, noise),
        *order.editions(table, noise),
        load.little(table),
        load.plateau(table),
        load.idle_cpus(table),
        load.too_many_cpus(table),
        counts.failures(table),
        counts.unended(table),
        counts.equal_percentiles(table),
        counts.falling_percentiles(table),
        counts.unreadable(table),
    )
    yield from (finding for finding in results if finding is not None)


def _facts(board: LiveBoard) -> BoardFacts:
    return BoardFacts(
        name=board.name,
        source=SOURCES.get(board.name, ", ".join(board.files)),
        files=board.files,
        editions=len(board.editions),
        first=board.editions[0],
        last=board.editions[-1],
        figures=len(board.measurements),
        entries=len({row.entry for row in board.measurements}),
        profiles=len(board.profiles),
        cpus=board.cpus,
    )


def own_run(view: RunView) -> OwnRun:
    """The main level of a run. Raises `DeadheatError` if it ranks nothing."""
    level = analyze(view).main
    if level.ranking is None or len(level.ranking.rows) < 2:
        raise DeadheatError(
            f"run {view.run_id} ranks no two servers", "choose another run: deadheat report --list"
        )
    rates = {row.name: row.rate_median for row in level.ranking.rows}
    return OwnRun(view.run_id, level.connections, rates, level.ranking)
