"""`deadheat compare`: compares two runs, or two contenders of one run."""

from pathlib import Path

import click

from deadheat import report
from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import json_option, store_option
from deadheat.cli.stored import stored
from deadheat.output import echo, echo_json
from deadheat.report.findings.comparison import two_contenders, two_runs
from deadheat.report.model.runs import find_run


@listed("compare")
@click.argument("first")
@click.argument("second")
@flag(
    "--in",
    "run",
    section=Topic.STORED_RUNS,
    metavar="RUN",
    help="Run whose contenders FIRST and SECOND name; without it, they are runs.",
)
@store_option
@json_option
def command(first: str, second: str, run: str | None, store_path: Path, as_json: bool) -> None:
    """FIRST and SECOND are runs: ids, their last parts or unique beginnings. With --in RUN, they
    are names of contenders of that run.

    For runs it prints how well the ranks agree, pairs in opposite order, the change of each
    contender with its interval, and what differed between the runs. For two races in
    slices, the interval is that of the change beside the other contenders, so a machine that is
    faster for all of them changes nothing.
    For contenders it prints the verdict, the ratio with its interval, the probability that the
    first is faster, and the costs.

    \b
    Examples:
      deadheat compare 20261120-1435 20261120-1502
      deadheat compare go-gin go-echo --in 20261120-1435
    """
    with stored(store_path) as store:
        views = [
            report.load_view(store, find_run(store, prefix))
            for prefix in ([run] if run is not None else [first, second])
        ]
    if run is not None:
        (view,) = views
        lines, document = two_contenders(view, first, second)
    else:
        lines, document = two_runs(*views)
    if as_json:
        echo_json(document)
    else:
        echo("\n".join(lines))
