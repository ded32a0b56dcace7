"""`deadheat capacity`: the highest rate that holds an objective."""

import json
import sys
from pathlib import Path

import click

from deadheat.campaign.capacity import Capacity, Objective, find_capacities
from deadheat.campaign.entry import enter_contenders, require_contenders
from deadheat.campaign.run import open_run
from deadheat.catalog import choose, selection
from deadheat.cli.options import Duration, Levels, catalog_option, json_option, store_option
from deadheat.cli.progress_view import progress_view
from deadheat.cli.workbench import builder_on, local_world, open_catalog
from deadheat.protocol import amend, load_protocol
from deadheat.store import Store


@click.command("capacity")
@click.argument("servers", nargs=-1, required=True)
@click.option("--slo", default="p99=10ms", show_default=True, help="The objective to hold.")
@click.option("-c", "--connections", type=Levels(), help="Connections that carry the load.")
@click.option("-d", "--duration", "duration_s", type=Duration(), help="Of one trial.")
@click.option("--setting", default="default", help="A named setting of the manifests.")
@catalog_option
@store_option
@json_option
def command(
    servers: tuple[str, ...],
    slo: str,
    connections: tuple[int, ...] | None,
    duration_s: float | None,
    setting: str,
    catalog: str | None,
    store_path: Path,
    as_json: bool,
) -> None:
    """Search the highest offered rate (open loop, Poisson) at which an objective holds.

    The objective is a quantile of the response time from the moment a request was due, with no
    error and the offered rate achieved.

    \b
    Example:  deadheat capacity go-net-http node-http --slo p99=10ms
    """
    objective = Objective.parse(slo)
    found = open_catalog(catalog)
    changes = {"connections": connections, "duration_s": duration_s}
    protocol = amend(load_protocol(found.root, "capacity"), changes, {})
    chosen = [selection(server, setting) for server in choose(found, servers)]
    with (
        Store(store_path) as store,
        local_world("engine", protocol.threads) as world,
        progress_view() as listen,
        open_run(store, world, protocol, ["deadheat", *sys.argv[1:]], 0) as run,
    ):
        run.conclusion["slo"] = slo
        builder = builder_on(world.server_host)
        entrants = enter_contenders(chosen, {}, world, store, run.id, builder, listen)
        require_contenders(entrants)
        results = find_capacities(world, protocol, store, run.id, entrants, objective, listen)
        run.conclusion["capacities"] = [result.to_json() for result in results]
    if as_json:
        told = {"run": run.id, "slo": slo, "capacities": [one.to_json() for one in results]}
        click.echo(json.dumps(told, indent=2))
        return
    click.echo("\n".join(_line(one, slo) for one in results))
    click.echo(f"everything is stored: {store_path}  (run {run.id})")


def _line(one: Capacity, slo: str) -> str:
    if one.trials == 0:
        return f"{one.name:24} not measured: {one.trouble}"
    above = f"; {one.above_per_s:,.0f}/s did not hold" if one.above_per_s is not None else ""
    trouble = f" ({one.trouble})" if one.trouble else ""
    if one.rate_per_s == 0:
        return f"{one.name:24} no rate was seen to hold {slo}{above}, {one.trials} trials{trouble}"
    return (
        f"{one.name:24} {one.rate_per_s:>9,.0f} requests/s hold {slo}{above}, "
        f"{one.trials} trials{trouble}"
    )
