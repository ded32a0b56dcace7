"""`deadheat plan`: shows what a run would do and how long it takes."""

from deadheat.campaign.estimate import Estimate, estimate
from deadheat.campaign.resolve import Resolved, fit_to, on_hosts
from deadheat.campaign.schedule import Outline, outline
from deadheat.campaign.slice_lengths import within_budget
from deadheat.catalog import Selection, selection
from deadheat.cli.choice import (
    answering,
    chosen_servers,
    no_race,
    open_catalog,
    replay_lineup,
)
from deadheat.cli.help import WithCommand, listed
from deadheat.cli.options import catalog_option, json_option, language_option, servers_argument
from deadheat.cli.own_options import own_servers_options
from deadheat.cli.race_options import machine_options, rate_protocol_options
from deadheat.measure.contender import compiler_of
from deadheat.measure.hosts import Hosts, host_of
from deadheat.measure.own_servers import OwnServers
from deadheat.measure.world import cpus_of_load, split_cpus
from deadheat.output import echo, echo_json
from deadheat.protocol import AloneProtocol, Protocol, SearchProtocol


@listed("plan", WithCommand)
@servers_argument
@language_option
@own_servers_options
@rate_protocol_options
@machine_options
@catalog_option
@json_option
def command(
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    own: OwnServers,
    protocol: Protocol,
    hosts: Hosts,
    catalog: str | None,
    as_json: bool,
) -> None:
    """It builds, starts and measures nothing. SERVERS are names or globs; the default is all.

    \b
    Examples:
      deadheat plan go-gin node-http
      deadheat plan --protocol quick go-gin node-http
      deadheat plan go-gin -- ./my-server --port {port}
      deadheat plan --protocol kzmake-2018 --duration-scale 0.1
    """
    servers_catalog = open_catalog(catalog)
    own, protocol = own.with_workload(protocol, alone=not (servers or languages))
    if isinstance(protocol, SearchProtocol):
        raise no_race(protocol)
    lineup = replay_lineup(protocol, servers_catalog, servers, languages)
    without: list[str] = []
    chosen: list[Selection] = []
    if lineup is not None:
        names = [chosen.name for chosen in lineup.selections]
    else:
        is_chosen = servers or languages or not own
        servers_chosen = chosen_servers(servers_catalog, servers, languages) if is_chosen else []
        chosen = answering([selection(server) for server in servers_chosen], protocol)
        names = [each.name for each in chosen]
        names += [each.name for each in own.contenders(names, protocol)]
        without = [
            each.name
            for name in protocol.requested
            for each in chosen
            if name not in each.server.manifest.workloads
        ]
    forecast: Outline | Estimate
    if isinstance(protocol, AloneProtocol):
        labels, missing = (lineup.labels, lineup.missing) if lineup else ({}, {})
        fitted = fit_here(on_hosts(protocol, beside=not hosts), hosts)
        protocol = fitted.protocol
        forecast = outline(protocol, names, labels, missing, fitted.remarks)
    else:
        protocol = within_budget(protocol, len(names))
        compilers = {each.name: compiler_of(each) for each in chosen}
        forecast = estimate(protocol, names, without, compilers)
    if as_json:
        echo_json({**forecast.to_json(), "protocol": protocol.model_dump()})
        return
    echo("\n".join(forecast.lines()))


def fit_here(protocol: AloneProtocol, hosts: Hosts) -> Resolved[AloneProtocol]:
    """The protocol within the limits of the machines."""
    with host_of(hosts.server) as host:
        fingerprint = host.fingerprint()
    if hosts:
        with host_of(hosts.load) as host:
            load = host.fingerprint()
        return fit_to(protocol, load, fingerprint, len(cpus_of_load(load, 1)))
    crowded = protocol.origin is not None
    _, load_cpus = split_cpus(fingerprint, protocol.threads, crowded)
    return fit_to(protocol, fingerprint, fingerprint, len(load_cpus))
