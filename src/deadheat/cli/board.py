"""`deadheat board`: races all servers, and shows them by all workloads as static pages."""

import functools
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click

from deadheat import numbers
from deadheat.build.image import bootstrap_lines
from deadheat.catalog import Catalog, find_root, load_catalog
from deadheat.cli import SUMMARIES
from deadheat.cli.board_race import race
from deadheat.cli.help import Command, CommandGroup, Topic, flag
from deadheat.cli.options import FOLDER, store_option
from deadheat.cli.stored import command_line, stored
from deadheat.errors import DeadheatError
from deadheat.output import echo
from deadheat.report.model.runs import find_run, list_runs, reading
from deadheat.report.picture import png
from deadheat.serve.board import NEWEST, BoardFolder, write_board
from deadheat.serve.servers import Bootstrap
from deadheat.store import Store
from deadheat.store.bundle import open_bundle
from deadheat.store.listing import run_ids


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
    runs: tuple[str, ...],
    output: Path,
    before: tuple[str, ...],
    url: str | None,
    store_path: Path,
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
    earlier = {_edition_name(each): sources((each,), store_path) for each in before}
    edition = write_board(board, sources(runs, store_path), earlier)
    counts = [
        numbers.count(len(edition.servers), "server"),
        numbers.count(len(edition.levels), "workload"),
        numbers.count(len(board.entries), "run"),
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


def _edition_name(source: str) -> str:
    name = Path(source).stem or source
    return f"{name} (before)" if name == NEWEST else name


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
