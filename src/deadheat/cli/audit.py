"""`deadheat audit`: a stored replay beside published figures, or the files of a live board."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from deadheat.audit.audit import audit, published
from deadheat.audit.decay import decay_page
from deadheat.audit.page import FORMATS as TEXT_FORMATS
from deadheat.audit.page import Page, write
from deadheat.audit.placement import is_elsewhere
from deadheat.audit.replay import Replay, load_replay
from deadheat.audit.sections import audit_page
from deadheat.boards import page as boards_page
from deadheat.boards.adapters.read import read_boards
from deadheat.boards.audit import audit_boards, own_run
from deadheat.boards.checks.beside import read_names
from deadheat.boards.readings import Readings, is_readings, read_readings
from deadheat.catalog import find_root
from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import FILE, catalog_option, integer, store_option
from deadheat.cli.stored import command_line, read_from, require_another, show, stored
from deadheat.errors import DeadheatError, UsageFault
from deadheat.protocol import load_protocol, protocol_names
from deadheat.protocol.figures import PublishedFigures, read_figures
from deadheat.report.model.load import load_view
from deadheat.report.model.runs import find_run
from deadheat.store import Store
from deadheat.store.listing import latest_run_of

BOARD_FILES = (".json", ".csv")


@listed("audit")
@click.argument("words", nargs=-1, metavar="[NAME [RUN] | FILE...]")
@flag(
    "--format",
    "format_",
    section=Topic.OUTPUT,
    type=click.Choice(boards_page.FORMATS),
    default="text",
    show_default=True,
    help="Output format; html is for FILE.",
)
@flag(
    "--against",
    section=Topic.STORED_RUNS,
    metavar="RUN",
    help="Another stored replay to compare with.",
)
@flag(
    "--import",
    "table",
    section=Topic.STORED_RUNS,
    type=FILE,
    help="Published table to compare with, in the columns of published/*.csv.",
)
@flag(
    "--beside",
    section=Topic.STORED_RUNS,
    metavar="RUN|FILE",
    help="Run of ours to compare the board with: a stored one, or a bundle.",
)
@flag(
    "--names",
    section=Topic.STORED_RUNS,
    type=FILE,
    help="CSV with the columns board, entry and server.  [default: the one that comes with "
    "deadheat]",
)
@flag(
    "--cpus",
    section=Topic.LIMITS,
    type=integer(1, 4096),
    metavar="N",
    help="CPUs that a server of the board may use.  [default: what the board says]",
)
@flag("-o", "--output", section=Topic.OUTPUT, type=FILE, help="File to write.")
@catalog_option
@store_option
def command(
    words: tuple[str, ...],
    format_: str,
    against: str | None,
    table: Path | None,
    beside: str | None,
    names: Path | None,
    cpus: int | None,
    output: Path | None,
    catalog: str | None,
    store_path: Path,
) -> None:
    """A replay is a run that repeats what a published comparison did. The audit shows the ranks
    then and now, and the defects of the comparison: how its figures mislead.

    NAME is a replay protocol (`deadheat protocols` lists them). RUN is a stored run of it: an id,
    its last part or a unique beginning; the default is the last one. With --import, NAME is the
    run to compare with that table; the rows of the table are labels or names of the run's
    contenders.

    FILE is a board's own: HttpArena's site/data/PROFILE.json, the-benchmarker's data.json or
    data.min.json, TechEmpower's results.json, a CSV with the columns entry and rate_per_s, or the
    JSON that this command wrote. Several files of one board are its editions. The audit says what
    the board's noise is, what of its order survives it, and which figures cannot be right.

    \b
    Examples:
      deadheat audit kzmake-2018
      deadheat audit kzmake-2018 --format md -o docs/results/kzmake-2018.md
      deadheat audit --import blog.csv 20261120
      deadheat audit decay
      deadheat audit data.min.json --format html -o board.html
    """
    paths = [Path(word) for word in words] if any(map(_is_file, words)) else []
    bundle = Path(beside) if beside and beside.endswith(".deadheat") else None
    if output is not None:
        for path in filter(None, (store_path, *paths, table, names, bundle)):
            require_another(output, path)
    if paths:
        if against or table:
            raise click.UsageError("--against and --import are for a replay, not for FILE")
        readings = _board_readings(paths, beside, bundle, names, cpus, store_path)
        text = boards_page.write(readings, format_, [shlex.join(command_line())])
        show(text, format_ != "text", output, store_path)
        return
    if beside or names or cpus or format_ not in TEXT_FORMATS:
        raise click.UsageError("--beside, --names, --cpus and --format html need FILE")
    if len(words) > 2:
        raise click.UsageError(f"expected NAME and RUN, or FILE..., got {len(words)} names")
    for word in words:
        if Path(word).is_file():
            ends = " or ".join(BOARD_FILES)
            raise UsageFault(f"{word}: expected a board's file to end in {ends}", "rename it")
    name, run = (*words, None, None)[:2]
    root = find_root(catalog)
    if name is None and table is None:
        raise UsageFault(
            "missing argument NAME: expected a replay protocol, or the FILE of a board",
            f"available: {', '.join(_replays(root))}",
        )
    with _open(store_path, root, name if table is None else None) as store:
        if name is None or table is not None:
            replay = load_replay(store, find_run(store, name))
        else:
            replay = _replay_of(store, root, name, run)
        other = load_replay(store, find_run(store, against)) if against else None
        page = _page(store, replay, table, other, root)
    text = write(page, format_, [shlex.join(command_line())])
    show(text, format_ != "text", output, store_path)


def _is_file(word: str) -> bool:
    """Whether a word names a board's file and not a protocol or a run."""
    return Path(word).suffix.lower() in BOARD_FILES


def _board_readings(
    paths: Sequence[Path],
    beside: str | None,
    bundle: Path | None,
    names: Path | None,
    cpus: int | None,
    store_path: Path,
) -> Readings:
    written = [path for path in paths if is_readings(path)]
    if written:
        if len(paths) > 1 or beside or names or cpus:
            raise click.UsageError(f"{written[0]}: readings stand alone, without other flags")
        return read_readings(written[0])
    boards = read_boards(paths, cpus)
    options = ["--cpus", str(cpus)] if cpus else []
    if beside is None:
        if names is not None:
            raise click.UsageError("--names needs --beside RUN")
        return audit_boards(boards, options=options)
    with read_from(bundle, store_path) as store:
        run = None if bundle else beside
        own = own_run(load_view(store, find_run(store, run, bundle is not None)))
    listed_names = read_names(names) if names is not None else None
    source = bundle.name if bundle else own.run_id
    return audit_boards(boards, own, listed_names, [*options, "--beside", source])


def _page(
    store: Store, replay: Replay, table: Path | None, other: Replay | None, root: Path
) -> Page:
    if table is not None:
        return audit_page(audit(store, replay, read_figures(table), None, other))
    if replay.protocol.recovery is not None:
        return decay_page(replay, root)
    figures, repetitions = _published(root, replay)
    elsewhere = _elsewhere(store, replay, other)
    return audit_page(audit(store, replay, figures, repetitions, other, elsewhere))


def _elsewhere(store: Store, replay: Replay, other: Replay | None) -> Replay | None:
    """A replay with its client elsewhere: `other` if it is one; without `other`, the last one."""
    if other is not None:
        return other if is_elsewhere(replay, other) else None
    run_id = latest_run_of(store, replay.protocol.name, on_several_hosts=not replay.links)
    return load_replay(store, run_id) if run_id is not None else None


def _open(store_path: Path, root: Path, protocol: str | None) -> Store:
    """The store. If it is missing, the hint says how to run `protocol`."""
    if protocol is None or store_path.exists():
        return stored(store_path)
    raise _no_run(root, protocol, f"the store {store_path} does not exist")


def _no_run(root: Path, protocol: str, symptom: str) -> DeadheatError:
    if protocol in protocol_names(root):
        hint = f"replay it first: deadheat run --protocol {protocol} --duration-scale 0.1"
        return DeadheatError(symptom, hint)
    return DeadheatError(
        f"NAME {protocol!r}: no protocol has this name", f"available: {', '.join(_replays(root))}"
    )


def _replays(root: Path) -> list[str]:
    """The names of the protocols that can be audited."""
    protocols = [load_protocol(root, name) for name in protocol_names(root)]
    return [protocol.name for protocol in protocols if protocol.origin or protocol.recovery]


def _replay_of(store: Store, root: Path, name: str, prefix: str | None) -> Replay:
    """The run with that id or prefix, or the last run of the protocol `name`."""
    if prefix is None:
        return load_replay(store, _last_run(store, root, name))
    replay = load_replay(store, find_run(store, prefix))
    if replay.protocol.name != name:
        raise UsageFault(
            f"run {replay.run_id} is of protocol {replay.protocol.name}, not {name}",
            f"deadheat audit {replay.protocol.name} {replay.run_id}",
        )
    return replay


def _last_run(store: Store, root: Path, protocol: str) -> str:
    """The last stored run of that protocol with a trial."""
    run_id = latest_run_of(store, protocol)
    if run_id is not None:
        return run_id
    raise _no_run(root, protocol, f"no run of {protocol} is stored in {store.path}")


def _published(root: Path, replay: Replay) -> tuple[PublishedFigures, PublishedFigures | None]:
    """The figures that a replay repeats, and the single repetitions if they are published."""
    origin = replay.protocol.origin
    if origin is None:
        raise UsageFault(
            f"run {replay.run_id} is of protocol {replay.protocol.name}, which is not a replay",
            "compare it with a table of your own: --import FILE.csv",
        )
    return published(root, origin.figures)
