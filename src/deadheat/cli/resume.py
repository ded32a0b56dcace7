"""`deadheat resume`: continues a stored run, or gives it more time."""

import sys
from pathlib import Path

import click

from deadheat.campaign.campaign import Plan, plan_of, rest_of_run
from deadheat.campaign.resume import NEW_RUN, load_unfinished
from deadheat.catalog import Catalog, find_root, load_catalog
from deadheat.cli.execution import Execution, execute, execution_options
from deadheat.cli.help import Command, Topic, flag, listed
from deadheat.cli.options import DURATION
from deadheat.cli.run import run_command
from deadheat.cli.stored import stored
from deadheat.errors import DeadheatError
from deadheat.report.findings.analysis import verdicts_of
from deadheat.report.model.load import load_view
from deadheat.report.model.runs import find_run
from deadheat.store import read_run
from deadheat.store.listing import kept_options, run_argument, run_summary

ENDS = {
    "running": "is still in progress",
    "complete": "is complete",
    "unended": "may be in progress on another machine",
}


class _Resume(Command):
    """A command that explains why it lacks a flag of `deadheat run`."""

    def fault_of(self, error: click.UsageError) -> click.UsageError | DeadheatError:
        flags = {name for param in run_command.params for name in param.opts}
        if not (isinstance(error, click.NoSuchOption) and error.option_name in flags):
            return error
        return DeadheatError(f"{error.option_name} would change the run", f"omit it, or {NEW_RUN}")


@listed("resume", _Resume)
@click.argument("run", required=False)
@flag(
    "--more",
    "more_s",
    section=Topic.STORED_RUNS,
    type=DURATION,
    help="Give a run that has spent its budget this much more time.",
)
@execution_options
def command(run: str | None, more_s: float | None, execution: Execution) -> None:
    """RUN is an id, its last part or a unique beginning; the default is the last run. What was
    measured is kept, and processes are started anew. With --more, a race goes on that has spent
    its budget, to decide what it left open.

    The run keeps its servers, protocol and seed. Give the options again that say where and how it
    was executed: other machines, containers and limits.

    \b
    Examples:
      deadheat resume                                the last run, which ended early
      deadheat resume 20261120 --wait-quiet
      deadheat resume b837 --more 5m                 decide what a run left open
      deadheat resume b837 --server-host lab@192.168.10.10
    """
    execution.require_sense()
    catalog = load_catalog(_root_of(execution.catalog, execution.store_path, run))
    if more_s is None:
        plan = resumed_plan(execution.store_path, run, catalog)
    else:
        plan = extended_plan(execution.store_path, run, more_s, catalog)
    sys.exit(execute(plan, execution, catalog))


def _root_of(given: str | None, store_path: Path, wanted: str | None) -> Path:
    """The catalog as the run's command found it, in the folder where it was given."""
    with stored(store_path) as store:
        run = read_run(store, find_run(store, wanted, with_empty=True))
    folder = Path(run.conclusion.folder or ".")
    named = kept_options(run.command, ("--catalog",))
    if given is None and named and (at := folder / named[-1].removeprefix("--catalog=")).is_dir():
        given = str(at)
    return find_root(given, folder if folder.is_dir() else None)


def resumed_plan(store_path: Path, wanted: str | None, catalog: Catalog) -> Plan:
    """The rest of a run that ended early. Raises `DeadheatError` if it cannot be resumed."""
    with stored(store_path) as store:
        run_id = find_run(store, wanted, with_empty=True)
        state = run_summary(store, run_id).state
        is_spent = read_run(store, run_id).conclusion.why == "budget spent"
    if state in ENDS:
        more = f"`deadheat resume {run_argument(run_id, store_path)} --more 5m` gives it more time"
        hint = f"{more}, or {NEW_RUN}" if is_spent else NEW_RUN
        raise DeadheatError(f"run {run_id} {ENDS[state]}", hint)
    return rest_of_run(store_path, run_id, catalog)


def extended_plan(store_path: Path, wanted: str | None, more_s: float, catalog: Catalog) -> Plan:
    """More time for a run that has spent its budget. Raises `DeadheatError` if it has not."""
    with stored(store_path) as store:
        run_id = find_run(store, wanted, with_empty=True)
        if (state := run_summary(store, run_id).state) != "complete":
            why = ENDS.get(state, "has not ended by itself")
            resumption = f"deadheat resume {run_argument(run_id, store_path)}"
            raise DeadheatError(
                f"--more: run {run_id} {why}", NEW_RUN if state in ENDS else resumption
            )
        unfinished = load_unfinished(store, run_id)
        extended = unfinished.extended(more_s, verdicts_of(load_view(store, run_id)))
    return plan_of(extended, catalog)
