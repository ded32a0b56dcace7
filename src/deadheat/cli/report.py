"""`deadheat report`: a stored run again, in any format."""

import sys
from pathlib import Path

import click

from deadheat import report
from deadheat.cli.options import FILE, store_option
from deadheat.cli.stored import stored, write_output
from deadheat.errors import DeadheatError
from deadheat.report.formats.encoding import fit
from deadheat.report.model.runs import find_run, lines, list_runs
from deadheat.report.picture import PICTURES, draw, png
from deadheat.store import Store
from deadheat.store.bundle import open_bundle

PICTURE_FORMATS = ("svg", "png")


@click.command("report")
@click.argument("run", required=False)
@click.option(
    "--format",
    "format_",
    type=click.Choice([*report.FORMATS, *PICTURE_FORMATS]),
    default="terminal",
    show_default=True,
    help="How to show it.",
)
@click.option(
    "--picture",
    type=click.Choice(PICTURES),
    help="What svg and png show: bars (the default; one core and several apart), bars by language, "
    "latency curves, decay.",
)
@click.option("-o", "--output", type=FILE, help="Write to this file.")
@click.option(
    "--from",
    "bundle",
    type=FILE,
    help="Read this bundle instead of the store.",
)
@click.option("--list", "listing", is_flag=True, help="Every stored run, a line each.")
@store_option
def command(
    run: str | None,
    format_: str,
    picture: str | None,
    output: Path | None,
    bundle: Path | None,
    listing: bool,
    store_path: Path,
) -> None:
    """Show a stored run again: RUN is its id or how that begins; the last run by default.

    \b
    Examples:
      deadheat report                              the last run, finished or not
      deadheat report 20261120 --format md -o results.md
      deadheat report --format html -o page.html   one file, to look at and to keep
      deadheat report --format svg --picture latency -o latency.svg
      deadheat report --list
      deadheat report --from theirs.deadheat       a bundle of deadheat export
    """
    if picture and (listing or format_ not in PICTURE_FORMATS):
        given = "--list" if listing else f"--format {format_}"
        raise click.UsageError(
            f"--picture {picture}: {given} has no picture; add --format svg or --format png, "
            "or leave --picture out"
        )
    with open_bundle(bundle) if bundle else stored(store_path) as store:
        written = (
            lines(list_runs(store))
            if listing
            else _written(store, find_run(store, run), format_, picture or PICTURES[0])
        )
    if output is None:
        _print(written, as_it_is=not listing and format_ != "terminal")
        return
    plain = written if isinstance(written, bytes) else click.unstyle(written)
    write_output(output, plain, bundle or store_path)


def _written(store: Store, run_id: str, format_: str, picture: str) -> str | bytes:
    view = report.load_view(store, run_id, whole=format_ in report.WHOLE)
    if format_ not in PICTURE_FORMATS:
        return report.write(view, format_)
    svg = draw(view, picture)
    return png(svg) if format_ == "png" else svg


def _print(written: str | bytes, as_it_is: bool) -> None:
    """`as_it_is`: in UTF-8 whatever the output's encoding, for a file or a pipe."""
    if isinstance(written, bytes) and sys.stdout.isatty():
        raise DeadheatError("--format png is nothing for a terminal", "name a file with -o FILE")
    if isinstance(written, str):
        written = written.encode() if as_it_is else fit(written, sys.stdout.encoding)
    click.echo(written, nl=False)
