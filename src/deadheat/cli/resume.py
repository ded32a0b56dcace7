"""`deadheat run --resume RUN`: what is left of a stored run, as a plan."""

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

ALLOWED = ("resume", "install", "output", "catalog", "store_path", "as_json")
ENDS = {
    "running": "is still under way",
    "complete": "is complete: nothing of it is left",
    "unended": "has no end, and whether it is under way cannot be seen from here",
}


def resumed_plan(
    ctx: click.Context,
    store_path: Path,
    wanted: str | None,
    catalog: Catalog,
    latency_s: float,
) -> Plan:
    """Everything as the run has stored it. Raises `DeadheatError` for what cannot go on."""
    _refuse_changes(ctx)
    with Store(store_path, read_only=True) as store:
        run_id = find_run(store, wanted)
        if (state := run_summary(store, run_id).state) in ENDS:
            raise DeadheatError(f"--resume: run {run_id} {ENDS[state]}", "start a run of its own")
        left = load_unfinished(store, run_id)
    return Plan(
        protocol=left.protocol,
        selections=[_selection(left, one, catalog) for one in left.waiting],
        labels=left.labels,
        extra=(),
        seed=left.seed,
        command=left.command,
        latency_s=latency_s if "--latency" in left.command else None,
        left=left,
    )


def _refuse_changes(ctx: click.Context) -> None:
    """What a run was asked for is stored with it."""
    given = [
        param.opts[-1] if isinstance(param, click.Option) else "a server's name"
        for param in ctx.command.params
        if param.name not in ALLOWED
        and ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        and ctx.params.get(param.name or "") != ()
    ]
    if ctx.meta["own"]:
        given.append("a command behind `--`")
    if given:
        raise DeadheatError(
            f"--resume goes on as the run began, and {given[0]} would change it",
            "leave it out, or start a run of its own without --resume",
        )


def _selection(left: Unfinished, kept: StoredContender, catalog: Catalog) -> Selection:
    if kept.server in catalog.servers:
        return selection(catalog.servers[kept.server], kept.setting, kept.workers)
    reason = (
        f"there is no server {kept.server} in the catalog"
        if "language" in kept.manifest
        else f"how {kept.name} was started is not kept"
    )
    raise DeadheatError(f"run {left.id} cannot go on: {reason}", "start a run of its own")
