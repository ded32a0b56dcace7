"""`deadheat run --resume RUN` and `--more DURATION RUN`: plan the rest of a stored run."""

from collections.abc import Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from deadheat.campaign.campaign import Plan
from deadheat.campaign.resume import Unfinished, load_unfinished
from deadheat.catalog import Catalog, Selection, selection
from deadheat.cli.stored import stored
from deadheat.errors import DeadheatError
from deadheat.report.findings.analysis import analyze
from deadheat.report.model.load import load_view
from deadheat.report.model.runs import find_run
from deadheat.report.model.view import RunView
from deadheat.stats.decision import Verdict
from deadheat.stats.ranking import Decided
from deadheat.store import Store
from deadheat.store.listing import run_summary
from deadheat.store.rows import StoredContender
from deadheat.store.run_argument import run_argument
from deadheat.workload import Level

NEW_RUN = "start a new run"
ALLOWED = (
    "resume",
    "more_s",
    "wait_quiet_s",
    "server_host",
    "load_host",
    "server_address",
    "link_wait_s",
    "install",
    "output",
    "catalog",
    "store_path",
    "as_json",
    "verbose",
)
ENDS = {
    "running": "is still in progress",
    "complete": "is complete",
    "unended": "may be in progress on another machine",
}


def resumed_plan(
    ctx: click.Context,
    store_path: Path,
    wanted: str | None,
    catalog: Catalog,
    latency_s: float,
) -> Plan:
    """The plan as the run stored it. Raises `DeadheatError` if the run cannot be resumed."""
    _refuse_changes(ctx, "--resume")
    with Store(store_path, read_only=True) as store:
        run_id = find_run(store, wanted)
        if (state := run_summary(store, run_id).state) in ENDS:
            run = run_argument(run_id, store_path)
            hint = f"`deadheat run --more 5m {run}` gives it more time, or {NEW_RUN}"
            more = state == "complete"
            raise DeadheatError(f"--resume: run {run_id} {ENDS[state]}", hint if more else NEW_RUN)
    return rest_of_run(store_path, run_id, catalog, latency_s)


def rest_of_run(store_path: Path, run_id: str, catalog: Catalog, latency_s: float) -> Plan:
    """What is left of a run that has ended early. Raises `DeadheatError` if it cannot go on."""
    with Store(store_path, read_only=True) as store:
        unfinished = load_unfinished(store, run_id)
    return _plan(unfinished, catalog, latency_s)


def extended_plan(
    ctx: click.Context, store_path: Path, more_s: float, names: Sequence[str], catalog: Catalog
) -> Plan:
    """The plan of a run that has spent its budget, for `more_s` more.

    Raises `DeadheatError` if the run cannot be extended.
    """
    _refuse_changes(ctx, "--more", "servers")
    if len(names) != 1:
        raise click.UsageError(
            "--more DURATION RUN: name one run; `deadheat report --list` has all"
        )
    with stored(store_path) as store:
        run_id = find_run(store, names[0])
        if (state := run_summary(store, run_id).state) != "complete":
            why = ENDS.get(state, "has not ended by itself")
            run = run_argument(run_id, store_path)
            hint = NEW_RUN if state in ENDS else f"deadheat run --resume {run}"
            raise DeadheatError(f"--more: run {run_id} {why}", hint)
        unfinished = load_unfinished(store, run_id, "--more")
        extended = unfinished.extended(more_s, verdicts_of(load_view(store, run_id)))
    return _plan(extended, catalog, None)


def verdicts_of(view: RunView) -> dict[Level, Decided]:
    """The pairs that a report of the run shows as decided, by level."""
    return {
        Level(each.workload, level.connections): {
            (pair.faster, pair.slower): pair.verdict
            for pair in level.ranking.pairs
            if pair.verdict is not Verdict.UNDECIDED
        }
        for each in view.by_workload
        for level in analyze(each).levels
        if level.ranking is not None
    }


def _plan(unfinished: Unfinished, catalog: Catalog, latency_s: float | None) -> Plan:
    return Plan(
        protocol=unfinished.protocol,
        selections=[_selection(unfinished, kept, catalog) for kept in unfinished.waiting],
        labels=unfinished.labels,
        extra=(),
        seed=unfinished.seed,
        command=unfinished.command,
        latency_s=latency_s if "--latency" in unfinished.command else None,
        left=unfinished,
    )


def _refuse_changes(ctx: click.Context, flag: str, *allowed: str) -> None:
    """Raises `DeadheatError` for an argument that would change the run."""
    changes = [
        param.opts[-1] if isinstance(param, click.Option) else "a server's name"
        for param in ctx.command.params
        if param.name not in (*ALLOWED, *allowed)
        and ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        and ctx.params.get(param.name or "") != ()
    ]
    if ctx.meta["own"]:
        changes.append("a command behind `--`")
    if changes:
        raise DeadheatError(
            f"{flag}: {changes[0]} would change the run",
            f"omit it, or {NEW_RUN} without {flag}",
        )


def _selection(unfinished: Unfinished, kept: StoredContender, catalog: Catalog) -> Selection:
    if kept.server in catalog.servers:
        return selection(catalog.servers[kept.server], kept.setting, kept.workers)
    reason = (
        f"the catalog has no server {kept.server}"
        if "language" in kept.manifest
        else f"the store does not have the start command of {kept.name}"
    )
    does = "--resume" if unfinished.more_s is None else "--more"
    raise DeadheatError(f"{does}: run {unfinished.id} cannot go on: {reason}", NEW_RUN)
