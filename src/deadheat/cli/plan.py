"""`deadheat plan`: shows what a run would do and how long it takes."""

import click

from deadheat.campaign.estimate import Estimate, estimate
from deadheat.campaign.resolve import on_hosts
from deadheat.campaign.schedule import Outline, outline
from deadheat.campaign.slice_lengths import within_budget
from deadheat.catalog import selection
from deadheat.cli.choice import no_race
from deadheat.cli.help import Command
from deadheat.cli.hosts import Hosts, machine_options
from deadheat.cli.options import (
    catalog_option,
    json_option,
    language_option,
    protocol_options,
)
from deadheat.cli.replay import fit_here, replay_lineup
from deadheat.cli.server_names import complete_servers
from deadheat.cli.workbench import answering, chosen_servers, lacking, open_catalog
from deadheat.output import echo, echo_json
from deadheat.protocol import AloneProtocol, Protocol, SearchProtocol


@click.command("plan", cls=Command)
@click.argument("servers", nargs=-1, shell_complete=complete_servers)
@language_option
@protocol_options
@machine_options
@catalog_option
@json_option
def command(
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    protocol: Protocol,
    hosts: Hosts,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Print what a run would do, and how long it takes.

    It builds, starts and measures nothing. SERVERS are names or globs; the default is all.

    \b
    Examples:
      deadheat plan go-gin node-http
      deadheat plan --protocol quick go-gin node-http
      deadheat plan --protocol kzmake-2018 --duration-scale 0.1
    """
    servers_catalog = open_catalog(catalog)
    if isinstance(protocol, SearchProtocol):
        raise no_race(protocol)
    lineup = replay_lineup(protocol, servers_catalog, servers, languages)
    without: list[str] = []
    if lineup is not None:
        names = [chosen.name for chosen in lineup.selections]
    else:
        servers_chosen = chosen_servers(servers_catalog, servers, languages)
        chosen = answering([selection(server) for server in servers_chosen], protocol)
        names = [each.name for each in chosen]
        without = [name for each in protocol.workload_names for name in lacking(chosen, each)]
    forecast: Outline | Estimate
    if isinstance(protocol, AloneProtocol):
        labels, missing = (lineup.labels, lineup.missing) if lineup else ({}, {})
        fitted = fit_here(on_hosts(protocol, beside=not hosts), hosts)
        protocol = fitted.protocol
        forecast = outline(protocol, names, labels, missing, fitted.remarks)
    else:
        protocol = within_budget(protocol, len(names))
        forecast = estimate(protocol, names, without)
    if as_json:
        echo_json({**forecast.to_json(), "protocol": protocol.model_dump()})
        return
    echo("\n".join(forecast.lines()))
