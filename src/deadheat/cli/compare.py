"""`deadheat compare`: do two runs tell the same order?"""

import json
from dataclasses import asdict
from pathlib import Path

import click

from deadheat import report
from deadheat.cli.options import json_option, store_option
from deadheat.report.agreement import agreements, lines
from deadheat.report.runs import find_run
from deadheat.store import Store


@click.command("compare")
@click.argument("first")
@click.argument("second")
@store_option
@json_option
def command(first: str, second: str, store_path: Path, as_json: bool) -> None:
    """Compare two stored runs: rank agreement, inversions, and the rates side by side.

    \b
    Example:  deadheat compare 20261120-1435 20261120-1502
    """
    with Store(store_path, read_only=True) as store:
        views = [report.load_view(store, find_run(store, run)) for run in (first, second)]
    if as_json:
        told = {
            str(connections): asdict(one) if one is not None else None
            for connections, one in agreements(*views).items()
        }
        click.echo(json.dumps(told, indent=2))
        return
    click.echo("\n".join(lines(*views)))
