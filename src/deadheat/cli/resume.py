"""`deadheat run --resume RUN`: plans the rest of a stored run."""

from pathlib import Path

import click
from click.core import ParameterSource

from deadheat.campaign.campaign import Plan
from deadheat.campaign.resume import Unfinished, load_unfinished
from deadheat.catalog import Catalog, Selection, selection
from deadheat.errors import DeadheatError
from deadheat.report.model.runs import find_run
from deadheat.store import Store
from deadheat.store.listing import run_summary
from deadheat.store.rows import StoredContender

NEW_RUN = "start a new run"
ALLOWED = ("resume", "install", "output", "catalog", "store_path", "as_json", "verbose")
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
    _refuse_changes(ctx)
    with Store(store_path, read_only=True) as store:
        run_id = find_run(store, wanted)
        if (state := run_summary(store, run_id).state) in ENDS:
            raise DeadheatError(f"--resume: run {run_id} {ENDS[state]}", NEW_RUN)
        unfinished = load_unfinished(store, run_id)
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


def _refuse_changes(ctx: click.Context) -> None:
    """Raises `DeadheatError` for an argument that would change the run."""
    changes = [
        param.opts[-1] if isinstance(param, click.Option) else "a server's name"
        for param in ctx.command.params
        if param.name not in ALLOWED
        and ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        and ctx.params.get(param.name or "") != ()
    ]
    if ctx.meta["own"]:
        changes.append("a command behind `--`")
    if changes:
        raise DeadheatError(
            f"--resume: {changes[0]} would change the run",
            f"omit it, or {NEW_RUN} without --resume",
        )


def _selection(unfinished: Unfinished, kept: StoredContender, catalog: Catalog) -> Selection:
    if kept.server in catalog.servers:
        return selection(catalog.servers[kept.server], kept.setting, kept.workers)
    reason = (
        f"the catalog has no server {kept.server}"
        if "language" in kept.manifest
        else f"the store does not have the start command of {kept.name}"
    )
    raise DeadheatError(f"--resume: run {unfinished.id} cannot be resumed: {reason}", NEW_RUN)
