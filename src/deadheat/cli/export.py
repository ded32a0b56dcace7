"""`deadheat export`: a run and all its raw data as one file."""

from pathlib import Path

import click

from deadheat.cli.options import FILE, store_option
from deadheat.cli.stored import require_another, stored
from deadheat.report.model.runs import find_run
from deadheat.store.bundle import export_run


@click.command("export")
@click.argument("run", required=False)
@click.option(
    "-o",
    "--output",
    type=FILE,
    help="The bundle.  [default: RUN.deadheat]",
)
@store_option
def command(run: str | None, output: Path | None, store_path: Path) -> None:
    """Write a run to a bundle, from which every figure of it can be made again elsewhere.

    The bundle holds what the run holds: commands with their paths, logs, the machine's description.

    \b
    Example:  deadheat export 20261120-1435 -o gin-and-echo.deadheat
              deadheat report --from gin-and-echo.deadheat
    """
    with stored(store_path) as store:
        run_id = find_run(store, run)
        bundle = output or Path(f"{run_id}.deadheat")
        require_another(bundle, store_path)
        export_run(store, run_id, bundle)
    click.echo(f"{bundle}: run {run_id}, {bundle.stat().st_size / 1024:,.0f} KiB")
    click.echo(f"read it anywhere with:  deadheat report --from {bundle}")
