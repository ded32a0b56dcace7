"""`deadheat export`: writes a run with all its raw data to one file."""

from pathlib import Path

import click

from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import FILE, store_option
from deadheat.cli.stored import require_another, stored
from deadheat.output import echo
from deadheat.report.model.runs import find_run
from deadheat.store.bundle import export_run


@listed("export")
@click.argument("run", required=False)
@flag(
    "-o",
    "--output",
    section=Topic.OUTPUT,
    type=FILE,
    help="File to write.  [default: RUN.deadheat]",
)
@store_option
def command(run: str | None, output: Path | None, store_path: Path) -> None:
    """RUN is an id, its last part or a unique beginning; the default is the last run. Anyone can
    regenerate every figure from the bundle. It has all data of the run, including commands with
    their paths, logs and the description of the machine: look at it before you publish it.

    \b
    Example:
      deadheat export b837 -o gin-and-echo.deadheat
      deadheat report --from gin-and-echo.deadheat   on any machine
    """
    with stored(store_path) as store:
        run_id = find_run(store, run)
        bundle = output or Path(f"{run_id}.deadheat")
        require_another(bundle, store_path)
        export_run(store, run_id, bundle)
    echo(f"{bundle}: run {run_id}, {bundle.stat().st_size / 1024:,.0f} KiB")
    echo(f"read it on any machine:  deadheat report --from {bundle}")
