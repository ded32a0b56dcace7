"""`deadheat import`: somebody's bundle into the store, checked, and marked as foreign."""

from pathlib import Path

import click

from deadheat import report
from deadheat.cli.options import FILE, store_option
from deadheat.cli.workbench import make_room
from deadheat.errors import DeadheatError
from deadheat.store import Store, StoreError
from deadheat.store.bundle import import_runs, open_bundle
from deadheat.store.listing import run_ids


@click.command("import")
@click.argument("bundle", type=FILE)
@store_option
def command(bundle: Path, store_path: Path) -> None:
    """Take the runs of a bundle into the store; reports of them say that they are foreign.

    \b
    Example:  deadheat import gin-and-echo.deadheat
    """
    make_room(store_path.absolute().parent)
    with open_bundle(bundle) as foreign:
        _require_reports(foreign, bundle)
        with Store(store_path) as store:
            ids = import_runs(store, foreign, bundle.name)
    for run_id in ids:
        click.echo(f"imported {run_id}:  deadheat report {run_id}")


def _require_reports(foreign: Store, bundle: Path) -> None:
    """What no report can be made of is not taken."""
    for run_id in run_ids(foreign):
        try:
            report.write(report.load_view(foreign, run_id, whole=True), "json")
        except (DeadheatError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(
                f"{bundle}: run {run_id} is not as deadheat writes one: {error!r}",
                "export it again with this version",
            ) from error
