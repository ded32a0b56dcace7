"""`deadheat board`: races everything that works on this machine, in parts, and shows servers by
workloads as static pages.
"""

import functools
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import click
from pydantic import TypeAdapter

from deadheat import numbers
from deadheat.build.image import bootstrap_lines
from deadheat.build.leftovers import alone_with, make_room
from deadheat.build.prepare import Candidate
from deadheat.campaign.campaign import rest_of_run
from deadheat.catalog import Catalog, Server, find_root, load_catalog
from deadheat.catalog.manifest import HTTP
from deadheat.cli import SUMMARIES
from deadheat.cli.choice import answering, chosen_servers, open_catalog
from deadheat.cli.endings import ExitCode
from deadheat.cli.execution import Execution, carry_out, wait_quiet_option
from deadheat.cli.help import Command, CommandGroup, Topic, flag
from deadheat.cli.options import (
    DURATION,
    FOLDER,
    catalog_option,
    install_option,
    integer,
    language_option,
    servers_argument,
    store_option,
)
from deadheat.cli.race_options import (
    connections_option,
    limit_options,
    margin_option,
    workload_option,
    workload_values,
)
from deadheat.cli.servers import build_here
from deadheat.cli.stored import command_line, stored
from deadheat.edition.parts import BoardState, Racer
from deadheat.edition.sitting import BUNDLES, PAGES, STORE, TOGETHER, Sitting, brief
from deadheat.errors import DeadheatError, UsageFault
from deadheat.home import home
from deadheat.host import Limits
from deadheat.output import echo, echo_json
from deadheat.protocol import SliceProtocol, amend, load_as
from deadheat.report.model.runs import find_run, list_runs, reading
from deadheat.report.picture import png
from deadheat.serve.board import NEWEST, BoardFolder, write_board
from deadheat.serve.servers import Bootstrap
from deadheat.store import Store
from deadheat.store.bundle import open_bundle
from deadheat.store.listing import run_ids

DEFAULT_PROTOCOL = "settle"


@click.command("race", cls=Command)
@servers_argument
@language_option
@workload_option
@connections_option
@flag(
    "--together",
    section=Topic.MEASUREMENT,
    type=integer(1, 50),
    default=TOGETHER,
    help=f"Number of servers in a part besides the shared ones, at most.  [default: {TOGETHER}]",
)
@flag(
    "--protocol",
    section=Topic.MEASUREMENT,
    default=DEFAULT_PROTOCOL,
    show_default=True,
    metavar="NAME|FILE",
    help="What to measure and how, in slices; `deadheat protocols` lists the names.",
)
@flag(
    "--budget",
    "budget_s",
    section=Topic.MEASUREMENT,
    type=DURATION,
    help="Stop after this long; the same command goes on later.  [default: what the parts need]",
)
@margin_option
@flag(
    "--shared",
    section=Topic.SERVERS,
    multiple=True,
    metavar="NAME",
    help="Server that runs in every part, so that parts can be compared; repeat it for several.  "
    "[default: two that answer the most workloads]",
)
@wait_quiet_option("Before each part, wait")
@install_option
@flag(
    "-o",
    "--output",
    "folder",
    section=Topic.OUTPUT,
    type=FOLDER,
    metavar="DIR",
    help="Folder of the edition: its runs, bundles and pages.  [default: edition in DEADHEAT_HOME]",
)
@limit_options
@catalog_option
def race(
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    workload: str | None,
    connections: tuple[int, ...] | None,
    budget_s: float | None,
    margin: float | None,
    protocol: str,
    shared: tuple[str, ...],
    together: int,
    wait_quiet_s: float | None,
    install: bool,
    folder: Path | None,
    limits: Limits,
    catalog: str | None,
) -> None:
    """Race every server that works on this machine on every workload that it answers, in parts that
    memory holds, and write the board.

    SERVERS are names or globs; the default is all. A server that fails costs one line. The same
    command goes on with what a stop left, also on another day: servers that were added or changed
    since are raced, the others keep their runs. What the parts leave undecided gets the time that
    remains. Each part is a run in DIR/runs.sqlite and a bundle in DIR/bundles; DIR/board has the
    pages.

    \b
    Examples:
      deadheat board race --install --budget 8h
      deadheat board race 'go-*' 'rust-*' --workload hello,json
      deadheat board race --budget 2h -o edition     a second sitting
    """
    opened = open_catalog(catalog)
    common = chosen_servers(opened, shared) if shared else []
    every = [*chosen_servers(opened, servers, languages), *common]
    chosen = list({server.name: server for server in every}.values())
    every_workload = (name for server in chosen for name in server.manifest.workloads)
    names = workload or ",".join(dict.fromkeys(every_workload))
    rules = amend(
        load_as(opened.root, protocol, SliceProtocol),
        {"connections": connections, "workloads": workload_values(opened.root, names)},
        {"margin": margin},
    )
    if rules.transports != (HTTP,):
        raise UsageFault(
            f"--protocol {protocol}: expected the transport http: a board has no other",
            "race others with `deadheat run --transport`",
        )
    folder = folder or home() / "edition"
    make_room(folder / BUNDLES, home())
    execution = Execution(
        wait_quiet_s=wait_quiet_s, limits=limits, catalog=catalog, store_path=folder / STORE
    )
    with alone_with(folder / BUNDLES, f"the edition {folder}"):  # a store locks its own folder
        built = _built(chosen, install, limits)
        racers = _racers(built, rules)
        linked_by = tuple(server.name for server in common)
        _require_shared(linked_by, racers)
        sitting = Sitting(
            folder=folder,
            rules=rules,
            run_options=_run_options(protocol, margin),
            racers=racers,
            budget_s=budget_s,
            most_together=together,
            named=linked_by,
            carry_out=functools.partial(carry_out, execution=execution, heard_as=brief),
            rest_of=functools.partial(rest_of_run, execution.store_path, catalog=opened),
            write=functools.partial(_write_apart, folder),
        )
        interrupted, has_rate = sitting.run()
    if interrupted:
        sys.exit(ExitCode.INTERRUPTED)
    sys.exit(ExitCode.OK if has_rate else ExitCode.NO_ANSWER)


def _run_options(protocol: str, margin: float | None) -> tuple[str, ...]:
    """What `deadheat run` needs beside workloads and connections to repeat a part."""
    named = () if protocol == DEFAULT_PROTOCOL else ("--protocol", protocol)
    return (*named, *(() if margin is None else ("--margin", f"{100 * margin:g}%")))


def _write_apart(folder: Path) -> BoardState | None:
    """Write the pages in a separate process: a board takes memory that the servers need."""
    words = (sys.executable, "-P", "-m", __name__, str(folder), *command_line())
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        *_, last = done.stderr.splitlines() or ["no reason given"]
        raise DeadheatError(f"the board of {folder} could not be written: {last}")
    return TypeAdapter(BoardState | None).validate_json(done.stdout)


def _write(folder: Path, command: Sequence[str]) -> BoardState | None:
    """Write the board of the edition's runs; None without a rate."""
    from deadheat.edition.findings import state_of

    board = board_folder(folder / PAGES, None, command)
    try:
        written = write_board(board, sources((), folder / STORE))
    except DeadheatError:
        return None
    return state_of(written, board.parts[NEWEST])


def _racers(built: Sequence[Candidate], rules: SliceProtocol) -> dict[str, Racer]:
    keys = {each.selection.name: each.built.key for each in built if each.built is not None}
    racers = {}
    for each in answering([candidate.selection for candidate in built], rules):
        answered = {*each.server.manifest.answered}
        workloads = tuple(name for name in rules.workload_names if name in answered)
        racers[each.name] = Racer(each, keys[each.name], workloads)
    return racers


def _require_shared(names: Sequence[str], racers: Collection[str]) -> None:
    """Raises `UsageFault` for shared servers that cannot link the parts."""
    if missing := [name for name in names if name not in racers]:
        raise UsageFault(
            f"--shared {', '.join(missing)}: expected servers that work on this machine and answer "
            "one of the workloads",
            "name others, or omit --shared: `deadheat list` says what a server lacks",
        )


def _built(servers: Sequence[Server], install: bool, limits: Limits) -> list[Candidate]:
    """Those that work here; each of the others costs one line."""
    candidates = build_here(servers, install, limits, heard_as=brief)
    built = [each for each in candidates if each.built is not None]
    if not built:
        raise DeadheatError(
            "no server works on this machine", "`deadheat list` says what each of them lacks"
        )
    missing = len(candidates) - len(built)
    left_out = f", {missing} do not work here" if missing else ""
    echo(f"servers     {numbers.count(len(built), 'server')} built{left_out}")
    return built


@click.group("board", cls=CommandGroup, summary=SUMMARIES["board"])
def command() -> None:
    """\b
    Examples:
      deadheat board race --install --budget 8h
      deadheat board write -o board
    """


command.add_command(race)


@command.command("write", cls=Command)
@click.argument("runs", nargs=-1)
@flag(
    "-o",
    "--output",
    section=Topic.OUTPUT,
    type=FOLDER,
    metavar="DIR",
    required=True,
    help="Folder to write.",
)
@flag(
    "--before",
    section=Topic.STORED_RUNS,
    multiple=True,
    metavar="RUN|DIR",
    help="An older edition to compare with: a run, a bundle or a folder of bundles; repeat it for "
    "several.",
)
@flag(
    "--url",
    section=Topic.SERVERS,
    metavar="URL",
    help="Address at which you will publish the folder. Link previews need it for their pictures.",
)
@store_option
def write(
    runs: tuple[str, ...], output: Path, before: tuple[str, ...], url: str | None, store_path: Path
) -> None:
    """Write the servers of RUNS by their workloads, and a page per run, per server and per pair of
    neighbors or of servers of one language. The pages need no network.

    RUNS are bundles, folders of bundles, or ids or unique prefixes of stored runs; the default is
    every stored run. Together they are one edition: each may hold some of the servers or workloads.
    All runs of one build of a server count; a newer build replaces the older ones. A second board
    in the same folder replaces the first.

    \b
    Examples:
      deadheat board write -o board                  then open board/index.html
      deadheat board write 20261120 theirs.deadheat -o board
      deadheat board write november/ --before october/ -o board
      deadheat board write -o board --url https://example.org/board
    """
    board = board_folder(output, url, command_line())
    names = _edition_names(before)
    earlier = {names[each]: sources((each,), store_path) for each in names}
    edition = write_board(board, sources(runs, store_path), earlier)
    counts = [
        numbers.count(len(edition.servers), "server"),
        numbers.count(len(edition.levels), "workload"),
        numbers.count(len(board.raced), "run"),
        numbers.count(len(board.cards), "comparison"),
    ]
    echo(f"{output / 'index.html'}: {numbers.listing(counts)}")
    for run_id, why in edition.left_out.items():
        echo(f"run {run_id} is left out: {why}", err=True)
    for older in board.editions[1:]:
        if where := edition.elsewhere(older):
            echo(f"{older.name} was measured on another machine: {where}", err=True)


def board_folder(output: Path, url: str | None, command: Sequence[str]) -> BoardFolder:
    """The folder of a board that `command` writes, with pictures where it has an address."""
    return BoardFolder(
        output,
        url,
        functools.partial(png, zoom=1) if url else None,
        _bootstraps(),
        shlex.join(command),
    )


def _edition_names(before: Sequence[str]) -> dict[str, str]:
    """What the board calls older editions: the last part of a path, or all of it for one of two
    that would be called the same.
    """
    short = {each: Path(each).name.removesuffix(".deadheat") or each for each in before}
    counts = Counter(short.values())
    names = {each: name if counts[name] == 1 else each for each, name in short.items()}
    return {each: f"{n} (before)" if n == NEWEST else n for each, n in names.items()}


def _bootstraps() -> functools.partial[Bootstrap]:
    """Reads the lines of a server from the catalog of this folder, where it has the server."""
    catalog = None
    with suppress(DeadheatError):
        catalog = load_catalog(find_root())
    return functools.partial(_bootstrap, catalog)


def _bootstrap(catalog: Catalog | None, name: str) -> Bootstrap:
    server = catalog.find(name) if catalog else None
    return Bootstrap(*bootstrap_lines(server)) if server else Bootstrap()


def sources(runs: Sequence[str], store_path: Path) -> Iterator[tuple[Store, str]]:
    """Each run with an open store that has it."""
    if not runs:
        with stored(store_path) as store:
            for summary in list_runs(store):
                if not summary.is_empty:
                    yield store, summary.run_id
    for run in runs:
        path = Path(run)
        if path.is_dir():
            bundles = sorted(path.glob("*.deadheat"))
            if not bundles:
                raise DeadheatError(
                    f"{path}: this folder has no bundle",
                    "expected files NAME.deadheat, which deadheat export writes",
                )
            for bundle in bundles:
                yield from _of_bundle(bundle)
        elif path.is_file():
            yield from _of_bundle(path)
        else:
            with stored(store_path) as store:
                yield store, find_run(store, run)


def _of_bundle(bundle: Path) -> Iterator[tuple[Store, str]]:
    with open_bundle(bundle) as store, reading(bundle):
        for run_id in run_ids(store):
            yield store, run_id


if __name__ == "__main__":
    state = _write(Path(sys.argv[1]), sys.argv[2:])
    echo_json(asdict(state) if state else None)
