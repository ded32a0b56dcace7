"""`deadheat import`: adds the runs of a bundle to the store."""

from pathlib import Path

import click

from deadheat import report
from deadheat.build.leftovers import make_room
from deadheat.cli.help import listed
from deadheat.cli.options import FILE, store_option
from deadheat.output import echo
from deadheat.report.model.runs import reading
from deadheat.store import Store
from deadheat.store.bundle import import_runs, open_bundle
from deadheat.store.listing import run_ids
from deadheat.store.run_argument import run_argument

UNREPORTABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


@listed("import")
@click.argument("bundle", type=FILE)
@store_option
def command(bundle: Path, store_path: Path) -> None:
    """Their reports say that they were measured elsewhere. To look at a bundle without adding it:
    deadheat report --from BUNDLE.

    \b
    Example:
      deadheat import gin-and-echo.deadheat
    """
    make_room(store_path.absolute().parent)
    with open_bundle(bundle) as foreign:
        _require_reports(foreign, bundle)
        with Store(store_path) as store:
            ids = import_runs(store, foreign, bundle.name)
    for run_id in ids:
        echo(f"imported {run_id}:  deadheat report {run_argument(run_id, store_path)}")


def _require_reports(foreign: Store, bundle: Path) -> None:
    """Raises `StoreError` if a run of the bundle cannot be reported."""
    for run_id in run_ids(foreign):
        with reading(bundle):
            report.write(report.load_view(foreign, run_id, whole=True), "json")
