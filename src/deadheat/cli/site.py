"""`deadheat site`: writes a static gallery of runs."""

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from deadheat import numbers
from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import FOLDER, store_option
from deadheat.cli.stored import stored
from deadheat.output import echo
from deadheat.report.model.runs import find_run, list_runs, reading
from deadheat.report.picture import png
from deadheat.serve.gallery import Gallery, write_gallery
from deadheat.store import Store
from deadheat.store.bundle import open_bundle
from deadheat.store.listing import run_ids


@listed("site")
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
    "--url",
    section=Topic.SERVERS,
    metavar="URL",
    help="Address at which you will publish the folder. Link previews need it for their pictures.",
)
@store_option
def command(runs: tuple[str, ...], output: Path, url: str | None, store_path: Path) -> None:
    """It has an index, and a page per run, per server and per pair of servers. The pages need no
    network either. RUNS are bundles, or ids or unique prefixes of stored runs; the default is every
    stored run with a valid trial. A second gallery in the same folder replaces the first.

    \b
    Examples:
      deadheat site -o gallery                         then open gallery/index.html
      deadheat site 20261120 theirs.deadheat -o gallery
      deadheat site -o gallery --url https://example.org/results
    """
    gallery = Gallery(output, url, functools.partial(png, zoom=1) if url else None)
    write_gallery(gallery, _sources(runs, store_path))
    counts = [
        numbers.count(len(gallery.entries), "run"),
        numbers.count(sum(name.startswith("servers/") for name in gallery.files), "server"),
        numbers.count(len(gallery.cards), "comparison"),
    ]
    echo(f"{output / 'index.html'}: {numbers.listing(counts)}")


def _sources(runs: Sequence[str], store_path: Path) -> Iterator[tuple[Store, str]]:
    """Each run with an open store that has it."""
    if not runs:
        with stored(store_path) as store:
            for summary in list_runs(store):
                if not summary.is_empty:
                    yield store, summary.run_id
    for run in runs:
        bundle = Path(run)
        if bundle.is_file():
            with open_bundle(bundle) as store, reading(bundle):
                for run_id in run_ids(store):
                    yield store, run_id
        else:
            with stored(store_path) as store:
                yield store, find_run(store, run)
