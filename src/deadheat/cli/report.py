"""`deadheat report`: a stored run again, in any format."""

import sys
from pathlib import Path

import click

from deadheat import report
from deadheat.cli.options import store_option
from deadheat.errors import DeadheatError
from deadheat.report.encoding import fit
from deadheat.report.runs import find_run, lines, list_runs
from deadheat.store import Store
from deadheat.store.bundle import open_bundle


@click.command("report")
@click.argument("run", required=False)
@click.option(
    "--format",
    "format_",
    type=click.Choice(report.FORMATS),
    default="terminal",
    show_default=True,
    help="How to show it.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file."
)
@click.option(
    "--from",
    "bundle",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read this bundle instead of the store.",
)
@click.option("--list", "listing", is_flag=True, help="Every stored run, a line each.")
@store_option
def command(
    run: str | None,
    format_: str,
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
      deadheat report --list
      deadheat report --from theirs.deadheat       a bundle of deadheat export
    """
    with open_bundle(bundle) if bundle else _opened(store_path) as store:
        text = (
            lines(list_runs(store)) if listing else _written(store, find_run(store, run), format_)
        )
    if output is None:
        in_utf_8 = not listing and format_ != "terminal"
        click.echo(text.encode() if in_utf_8 else fit(text, sys.stdout.encoding), nl=False)
        return
    try:
        output.write_text(click.unstyle(text), encoding="utf-8")
    except OSError as error:
        raise DeadheatError(f"--output {output}: {error.strerror}", "name another file") from error


def _opened(store_path: Path) -> Store:
    if not store_path.exists():
        raise DeadheatError(
            f"there is no store {store_path} yet",
            "measure something with deadheat run, or name another store with --store FILE",
        )
    return Store(store_path, read_only=True)


def _written(store: Store, run_id: str, format_: str) -> str:
    view = report.load_view(store, run_id, whole=format_ in report.WHOLE)
    return report.write(view, format_)
