"""`deadheat capacity`: the highest rate that holds a latency objective."""

from pathlib import Path

from deadheat.build.runtime import ServerRuntime, builder_of
from deadheat.campaign.capacity import Objective, find_capacities
from deadheat.campaign.entry import enter_contenders, enter_made, require_contenders
from deadheat.campaign.resolve import resolve
from deadheat.campaign.run import RunContext, open_run
from deadheat.cli.choice import (
    OWN_ALONE,
    answering,
    at_settings,
    open_catalog,
    refuse_start,
    selections_of,
)
from deadheat.cli.help import Topic, WithCommand, flag, listed
from deadheat.cli.options import (
    DURATION,
    LEVELS,
    catalog_option,
    json_option,
    servers_argument,
    setting_option,
    store_option,
)
from deadheat.cli.own_options import own_servers_options
from deadheat.cli.progress_view import progress_view
from deadheat.cli.race_options import (
    host_options,
    limit_options,
    one_transport_option,
    one_workload_option,
    runtime_options,
    streams_option,
    tls_key_option,
    workload_values,
)
from deadheat.cli.stored import command_line
from deadheat.errors import DeadheatError, UsageFault
from deadheat.events import Event
from deadheat.host import Limits
from deadheat.measure.hosts import Hosts, world_on
from deadheat.measure.own_servers import OwnServers
from deadheat.numbers import count
from deadheat.output import echo, echo_json
from deadheat.protocol import SearchProtocol, amend, load_as
from deadheat.report.findings.common_rate import capacity_text
from deadheat.store import Capacity, Store
from deadheat.store.listing import run_argument


@listed("capacity", WithCommand)
@servers_argument
@setting_option
@own_servers_options
@one_workload_option
@one_transport_option
@flag(
    "--slo",
    section=Topic.LOAD,
    default="p99=10ms",
    show_default=True,
    metavar="QUANTILE=TIME",
    help="Latency objective: this quantile of the response time is at most this.",
)
@flag("-c", "--connections", section=Topic.LOAD, type=LEVELS, help="Number of connections.")
@streams_option
@tls_key_option
@flag(
    "-d",
    "--duration",
    "duration_s",
    section=Topic.MEASUREMENT,
    type=DURATION,
    help="Duration of one trial.",
)
@limit_options
@runtime_options
@host_options
@catalog_option
@store_option
@json_option
def command(
    servers: tuple[str, ...],
    own: OwnServers,
    slo: str,
    connections: tuple[int, ...] | None,
    duration_s: float | None,
    setting: str,
    workload: str | None,
    transport: str | None,
    streams: int | None,
    tls_key: str | None,
    limits: Limits,
    runtime: ServerRuntime,
    hosts: Hosts,
    catalog: str | None,
    store_path: Path,
    as_json: bool,
) -> None:
    """Requests are due on a random schedule (open loop, Poisson arrivals), however slowly the
    server answers. The objective limits a quantile of the response time, counted from the moment a
    request was due. A rate holds it if also no request failed and the server kept up with the
    offered rate.

    \b
    Examples:
      deadheat capacity go-net-http node-http
      deadheat capacity go-gin --slo p99.9=50ms --connections 200
      deadheat capacity -- ./my-server --port {port}
    """
    objective = Objective.parse(slo)
    runtime.require_sense(server_host=hosts.server, load_host=any(hosts.loads))
    servers_catalog = open_catalog(catalog)
    root = servers_catalog.root
    changes = {
        "connections": connections,
        "duration_s": duration_s,
        "workloads": workload_values(root, workload),
        "transports": transport and (transport,),
        "streams": streams,
        "tls_key": tls_key,
    }
    protocol = amend(load_as(root, "capacity", SearchProtocol), changes, {})
    if len(protocol.requested) > 1:
        raise DeadheatError(
            f"--workload {workload}: a search for capacity takes one workload",
            "search once for each",
        )
    if not servers and not own:
        raise UsageFault("no server to search for", "name some: deadheat capacity go-gin")
    if not servers:
        refuse_start(setting, (None,), *OWN_ALONE)
    own, searched = own.with_workload(protocol, alone=not servers)
    if len(searched.transports) > 1:
        raise DeadheatError(
            f"--transport {','.join(searched.transports)}: these servers need both, and a search "
            "for capacity takes one transport",
            "search once for each",
        )
    named = at_settings(servers_catalog, servers, (), setting) if servers else []
    chosen = answering(selections_of(named), searched)
    extra = own.contenders([each.name for each in chosen], searched)
    with (
        Store(store_path) as store,
        world_on(
            hosts, "engine", searched.threads, limits=limits, containers=bool(runtime)
        ) as world,
        builder_of(runtime, world.server_host, world.server_cpus, limits) as builder,
        progress_view() as listen,
    ):
        resolved = resolve(searched, world, len(chosen) + len(extra))
        for remark in resolved.remarks:
            listen(Event(remark, trouble=True))
        with open_run(store, world, resolved.protocol, command_line(), 0) as run:
            run.conclude(slo=slo)
            entered = enter_contenders(chosen, {}, world, store, run.id, builder, listen)
            entered += enter_made(extra, store, run.id, len(chosen))
            require_contenders(entered)
            context = RunContext(world, resolved.protocol, store, run.id, entered, 0, listen)
            results: list[Capacity] = []
            try:
                for result in find_capacities(context, objective):
                    results.append(result)
                    run.conclude(capacities=tuple(results))
            except KeyboardInterrupt:
                if results:
                    report = f"deadheat report {run_argument(run.id, store_path)}"
                    listen(Event(f"interrupted: `{report}` shows what was found", trouble=True))
                raise
    if as_json:
        capacities = [result.model_dump() for result in results]
        echo_json({"run": run.id, "slo": slo, "capacities": capacities})
        return
    echo("\n".join(_line(result, slo) for result in results))
    echo(f"full report: deadheat report {run_argument(run.id, store_path)}")
    echo(f"stored in:   {store_path}  (run {run.id})")


def _line(capacity: Capacity, slo: str) -> str:
    trials = f" ({count(capacity.trials, 'trial')})" if capacity.trials else ""
    return f"{capacity.name:24} {capacity_text(capacity, slo)}{trials}"
