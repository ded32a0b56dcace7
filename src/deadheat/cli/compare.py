"""`deadheat compare`: two runs, or two contenders of one run."""

import json
from pathlib import Path

import click

from deadheat import report
from deadheat.cli.options import json_option, store_option
from deadheat.cli.stored import stored
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.comparison import two_contenders, two_runs
from deadheat.report.model.runs import find_run


@click.command("compare")
@click.argument("first")
@click.argument("second")
@click.option("--in", "run", metavar="RUN", help="Compare two contenders of this run.")
@store_option
@json_option
def command(first: str, second: str, run: str | None, store_path: Path, as_json: bool) -> None:
    """Compare two stored runs, or with --in two contenders of one run.

    Of runs: rank agreement, inversions, the change of each contender with its interval, and what
    was not the same. Of contenders: verdict, ratio with its interval, P(one faster), costs.

    \b
    Examples:
      deadheat compare 20261120-1435 20261120-1502
      deadheat compare go-gin go-echo --in 20261120-1435
    """
    with stored(store_path) as store:
        views = [
            report.load_view(store, find_run(store, one))
            for one in ([run] if run is not None else [first, second])
        ]
    if run is not None:
        (view,) = views
        text, told = two_contenders(view, analyze(view), first, second)
    else:
        text, told = two_runs(*views)
    click.echo(json.dumps(told, indent=2) if as_json else "\n".join(text))
