"""`deadheat report` shows a stored run in any format; `compare` shows what differs."""

import gc
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from deadheat import report
from deadheat.audit.audit import with_defects
from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import FILE, json_option, store_option, verbose_option
from deadheat.cli.stored import read_from, show, stored
from deadheat.foreign_text import one_line
from deadheat.output import echo, echo_json
from deadheat.report.findings.comparison import pairs_json, two_contenders, two_runs
from deadheat.report.model.evidence import raw_text
from deadheat.report.model.runs import find_run, lines, list_runs
from deadheat.report.model.view import RunView
from deadheat.report.picture import NAMING, PICTURES, draw, png
from deadheat.store.listing import contender_names, run_argument

PICTURE_FORMATS = ("svg", "png")


@listed("report")
@click.argument("run", required=False)
@flag(
    "--format",
    "format_",
    section=Topic.OUTPUT,
    type=click.Choice([*report.FORMATS, *PICTURE_FORMATS]),
    default="terminal",
    show_default=True,
    help="Output format.",
)
@flag(
    "--picture",
    section=Topic.OUTPUT,
    type=click.Choice(PICTURES),
    help="Content of an svg or png: bars of all servers, bars by language, latency curves, decay, "
    "a profile over workloads, a card with two contenders, a badge for a README, or a flame graph "
    "of a contender that was explained.  "
    "[default: bars]",
)
@flag(
    "--of",
    "names",
    section=Topic.OUTPUT,
    metavar="NAME",
    multiple=True,
    help="Contender on a card, badge or flame graph; repeat it for two. A badge of one shows "
    "its rank, of two their verdict.  [default: the first of the ranking]",
)
@flag("--workload", section=Topic.LOAD, metavar="NAME", help="Only this workload of the run.")
@flag(
    "--from",
    "bundle",
    section=Topic.STORED_RUNS,
    type=FILE,
    help="Bundle to read instead of the store.",
)
@flag(
    "--list",
    "listing",
    section=Topic.STORED_RUNS,
    is_flag=True,
    help="List the stored runs, one per line.",
)
@flag(
    "--all-series",
    section=Topic.OUTPUT,
    is_flag=True,
    help="Write the series and slices of every trial (json, html).  [default: of up to 60 trials "
    "per server and level, fewer in a run of more than 1,200]",
)
@flag(
    "--raw",
    section=Topic.OUTPUT,
    is_flag=True,
    help="Print what the load generator printed, for each server and workload: the trial nearest "
    "the median rate.",
)
@flag("-o", "--output", section=Topic.OUTPUT, type=FILE, help="File to write.")
@verbose_option
@store_option
def report_command(
    run: str | None,
    format_: str,
    picture: str | None,
    names: tuple[str, ...],
    workload: str | None,
    output: Path | None,
    bundle: Path | None,
    listing: bool,
    verbose: bool,
    all_series: bool,
    raw: bool,
    store_path: Path,
) -> None:
    """RUN is an id, its last part such as b837, or a unique beginning; the default is the last run.
    The report begins with the answer: who is faster, by how much, what is open, and the command
    that settles it.

    \b
    Examples:
      deadheat report                              the last run, also if it is unfinished
      deadheat report -v                           with all tables, the limits and the method
      deadheat report --list                       all stored runs
      deadheat report b837 --format md -o results.md
      deadheat report --format html -o page.html   a self-contained page
      deadheat report --format svg --picture latency -o latency.svg
      deadheat report --format png --picture card --of go-gin --of go-echo -o card.png
      deadheat report --from theirs.deadheat       a bundle that deadheat export wrote
    """
    given = "--list" if listing else f"--format {format_}"
    if picture and (listing or format_ not in PICTURE_FORMATS):
        raise click.UsageError(
            f"--picture {picture}: {given} has no picture; add --format svg or --format png, "
            "or omit --picture"
        )
    if all_series and (listing or format_ not in report.WHOLE):
        raise click.UsageError(f"--all-series: {given} has no series; add --format json or html")
    if raw and (listing or format_ != "terminal"):
        raise click.UsageError(f"--raw prints plain text only; omit {given}")
    if names and picture not in NAMING:
        raise click.UsageError(f"--of {names[0]}: add --picture card, badge or flame")
    if len(names) > 2:
        raise click.UsageError(f"--of: expected at most two contenders, got {len(names)}")
    content: str | bytes
    with read_from(bundle, store_path) as store, _uncollected():
        if listing:
            content = lines(list_runs(store), contender_names(store))
        else:
            option = f" {_source('', bundle, store_path)}" if bundle else None
            run_id = find_run(store, run, bundle is not None, option)
            whole = raw or format_ in report.WHOLE
            all_or_some = {"series_trials_max": None} if all_series else {}
            view = report.load_view(store, run_id, whole=whole, **all_or_some)
            if workload is not None:
                view = view.on(workload)
            if raw:
                content = _raw_texts(view)
            elif format_ in PICTURE_FORMATS:
                svg = draw(view, picture or PICTURES[0], names)
                content = png(svg) if format_ == "png" else svg
            else:
                view = with_defects(store, view) if whole else view
                source = _source(run_id, bundle, store_path)
                content = report.write(view, format_, source, verbose=verbose)
    show(content, not listing and format_ != "terminal", output, bundle or store_path)


def _source(run_id: str, bundle: Path | None, store_path: Path) -> str:
    """How a command names this run."""
    if bundle is not None:
        return f"--from {shlex.quote(str(bundle))}"
    return run_argument(run_id, store_path)


def _raw_texts(view: RunView) -> str:
    """Every contender on every workload, of a view that was read whole; ends with a newline."""
    lines = [
        f"{one_line(contender.name)} on {one_line(each.workload)}\n\n"
        f"{raw_text(contender.raw_output)}"
        for each in view.by_workload
        for contender in each.contenders
        if contender.raw_output is not None
    ]
    return "\n".join(lines) if lines else "no trial has output\n"


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the cyclic garbage collector, which takes a fifth of the time of a large run.

    The values of a run have no cycles, and the process ends with its report.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


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
def compare_command(
    first: str, second: str, run: str | None, store_path: Path, as_json: bool
) -> None:
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
        lines, pairs = two_contenders(view, first, second)
        document = pairs_json(pairs)
    else:
        lines, changes = two_runs(*views)
        document = changes.to_json()
    if as_json:
        echo_json(document)
    else:
        echo("\n".join(lines))
