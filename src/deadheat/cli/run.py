"""`deadheat run`, `explain`, `footprint`, and `plan`, which says what a run would do."""

import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from deadheat.campaign.campaign import LATENCY_S, Plan
from deadheat.campaign.resolve import Resolved, fit_to, on_hosts, within_budget
from deadheat.campaign.schedule import Estimate, Outline, estimate, outline
from deadheat.catalog import Catalog, Selection
from deadheat.catalog.manifest import Transport
from deadheat.cli.choice import (
    OWN_ALONE,
    answering,
    at_settings,
    open_catalog,
    ready_here,
    refuse_start,
    replay_lineup,
    selections_of,
)
from deadheat.cli.execution import Execution, execute, execution_options
from deadheat.cli.help import Topic, WithCommand, flag, listed
from deadheat.cli.options import (
    LEVELS,
    catalog_option,
    integer,
    json_option,
    language_option,
    seed_option,
    servers_argument,
    setting_option,
)
from deadheat.cli.own_options import own_servers_options
from deadheat.cli.race_options import (
    machine_options,
    one_transport_option,
    one_workload_option,
    rate_protocol_options,
    transport_option,
    workload_values,
)
from deadheat.cli.stored import command_line
from deadheat.errors import DeadheatError, UsageFault
from deadheat.measure.contender import compiler_of
from deadheat.measure.hosts import Hosts, host_of
from deadheat.measure.own_servers import OwnServers
from deadheat.measure.world import cpus_of_load, split_cpus
from deadheat.output import echo, echo_json
from deadheat.protocol import AloneProtocol, Protocol, SearchProtocol, SliceProtocol, amend, load_as


@listed("run", WithCommand)
@servers_argument
@language_option
@setting_option
@flag(
    "--workers",
    section=Topic.SERVERS,
    type=LEVELS,
    help="Measure each server with these numbers of workers, e.g. 1,2,4.",
)
@own_servers_options
@rate_protocol_options
@flag(
    "--latency",
    section=Topic.MEASUREMENT,
    is_flag=True,
    help="Also measure latency at 50, 70 and 90 % of each server's maximum rate.",
)
@seed_option
@execution_options
def run_command(
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    protocol: Protocol,
    workers: tuple[int, ...] | None,
    setting: str,
    own: OwnServers,
    latency: bool,
    seed: int,
    execution: Execution,
) -> None:
    """SERVERS are names or globs, and NAME:SETTING is a server in another setting; the default is
    every server that is ready here. COMMAND starts a server of your own; {port} stands for its
    port. The result says which servers differ, by how much, what is open, and what to type next.
    Ctrl-C stops a run; `deadheat resume` continues it.

    \b
    Examples:
      deadheat run                                   every server that is ready here
      deadheat run go-net-http node-http             two servers
      deadheat run 'python-*' --connections 10,100 --budget 3m
      deadheat run --language go --duration 2s --repetitions 3
      deadheat run go-gin go-gin:multicore           one server in two settings
      deadheat run go-gin -- ./my-server --port {port}
      deadheat run go-gin --url http://127.0.0.1:8080/
      deadheat run --command './old {port}' --command './new {port}' --name old --name new
      deadheat run -H 'Accept: text/html' --path /items -- ./my-server --port {port}
      deadheat run go-gin node-http --workload hello,route,wait
      deadheat run go-gin node-http --rate 1000,10000 --price 0.04
      deadheat run go-gin node-http --server-host lab@192.168.10.10
    """
    execution.require_sense()
    catalog = open_catalog(execution.catalog)
    plan = new_plan(
        protocol,
        catalog,
        Choice(servers, languages, setting, workers or (None,), execution.is_plainly_here),
        own,
        seed,
        LATENCY_S if latency else None,
    )
    sys.exit(execute(plan, execution, catalog))


@dataclass(frozen=True, slots=True)
class Choice:
    """The servers of the catalog that the command line names."""

    patterns: tuple[str, ...]
    languages: tuple[str, ...] = ()
    setting: str = "default"
    workers: tuple[int | None, ...] = (None,)  # None: as the setting says
    only_ready: bool = False  # where no names are given

    def __bool__(self) -> bool:
        return bool(self.patterns or self.languages)

    def selections(self, catalog: Catalog) -> list[Selection]:
        """Raises `UsageFault` with every server that lacks its setting or the workers."""
        chosen = at_settings(catalog, self.patterns, self.languages, self.setting)
        if self.only_ready and not self.patterns:
            ready = {server.name for server in ready_here([server for server, _ in chosen])}
            chosen = [each for each in chosen if each[0].name in ready]
        return selections_of(chosen, self.workers)


def new_plan(
    protocol: Protocol,
    catalog: Catalog,
    choice: Choice,
    own: OwnServers,
    seed: int,
    latency_s: float | None = None,
) -> Plan:
    """The plan of a new run. Raises `DeadheatError` for a choice that cannot be measured."""
    if isinstance(protocol, SearchProtocol):
        raise DeadheatError(
            f"--protocol {protocol.name}: it searches for a rate, and compares no servers",
            "deadheat capacity SERVERS searches; for a race, use another protocol",
        )
    own, asked = own.with_workload(protocol, alone=not choice)
    lineup = replay_lineup(asked, catalog, choice.patterns, choice.languages)
    if lineup is not None:
        cause = f"protocol {asked.name} says how its servers start"
        refuse_start(choice.setting, choice.workers, cause, "omit it, or use another protocol")
        selections = list(lineup.selections)
    elif choice or not own:
        selections = answering(choice.selections(catalog), asked)
    else:  # own servers race alone unless servers of the catalog are named too
        refuse_start(choice.setting, choice.workers, *OWN_ALONE)
        selections = []
    names = {chosen.name for chosen in selections}
    extra = own.contenders(names, asked)
    return Plan(
        protocol=asked,
        selections=selections,
        labels=lineup.labels if lineup else {},
        extra=extra,
        seed=seed,
        command=command_line(),
        latency_s=latency_s,
        missing=lineup.missing if lineup else {},
    )


@listed("explain", WithCommand)
@servers_argument
@setting_option
@own_servers_options
@one_workload_option
@transport_option
@flag("-c", "--connections", section=Topic.LOAD, type=LEVELS, help="Number of connections.")
@flag(
    "--repetitions",
    section=Topic.MEASUREMENT,
    type=integer(),
    help="Measure each server this many times.  [default: 8]",
)
@flag(
    "--invocations",
    section=Topic.MEASUREMENT,
    type=integer(),
    help="Start each server anew this many times; intervals come from these.  [default: 4]",
)
@seed_option
@execution_options
def explain_command(
    servers: tuple[str, ...],
    setting: str,
    own: OwnServers,
    workload: str | None,
    transports: tuple[Transport, ...] | None,
    connections: tuple[int, ...] | None,
    repetitions: int | None,
    invocations: int | None,
    seed: int,
    execution: Execution,
) -> None:
    """A short race gives user and system time, context switches, packets and bytes of each request.
    Then each server starts again: its threads are watched, strace counts its system calls, and perf
    samples its stacks. These slow it down, so no time comes from them. The result splits the gap of
    each pair, and names known mistakes with their fix. docs/explain.md explains an example.

    \b
    Examples:
      deadheat explain go-net-http node-http
      deadheat explain python-uvicorn --workload json
      deadheat explain go-gin --transport http,https  what TLS takes
      deadheat explain go-gin -- ./my-server --port {port}
      deadheat explain --url http://127.0.0.1:8080/   a server that runs already
    """
    execution.require_sense()
    if not servers and not own:
        raise UsageFault("no server to explain", "name some: deadheat explain go-gin node-http")
    catalog = open_catalog(execution.catalog)
    changes = {
        "connections": connections,
        "workloads": workload_values(catalog.root, workload),
        "transports": transports,
    }
    stopping = {"repetitions": repetitions, "invocations": invocations}
    protocol = amend(load_as(catalog.root, "explain", SliceProtocol), changes, stopping)
    if protocol.levels_each > 1:
        raise UsageFault("explain takes one workload at one level", "explain once for each")
    plan = new_plan(protocol, catalog, Choice(servers, setting=setting), own, seed)
    sys.exit(execute(replace(plan, explain=True), execution, catalog))


@listed("footprint", WithCommand)
@servers_argument
@language_option
@setting_option
@own_servers_options
@one_workload_option
@one_transport_option
@flag(
    "--idle-connections",
    section=Topic.LOAD,
    type=LEVELS,
    help="Numbers of idle connections after which memory is read.  [default: 1000,10000]",
)
@flag(
    "--starts",
    section=Topic.MEASUREMENT,
    type=integer(),
    help="Start each server this many times.  [default: 5]",
)
@seed_option
@execution_options
def footprint_command(
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    setting: str,
    own: OwnServers,
    workload: str | None,
    transport: str | None,
    idle_connections: tuple[int, ...] | None,
    starts: int | None,
    seed: int,
    execution: Execution,
) -> None:
    """Starts each server several times, one at a time, and prints the time from its start to the
    first right answer, its memory idle, with idle connections and under load, its processes and
    threads, the size of its build and the packages that it locks. Every race has these figures too,
    but for idle connections.

    \b
    Examples:
      deadheat footprint go-net-http node-http
      deadheat footprint 'python-*' --idle-connections 1000 --starts 3
      deadheat footprint -- ./my-server --port {port}
    """
    execution.require_sense()
    catalog = open_catalog(execution.catalog)
    choice = Choice(servers, languages, setting)
    if not choice and not own:
        raise UsageFault("no server to measure", "name some: deadheat footprint go-gin")
    changes = {
        "idle_connections": idle_connections,
        "workloads": workload_values(catalog.root, workload),
        "transports": transport and (transport,),
    }
    named = load_as(catalog.root, "footprint", AloneProtocol)
    protocol = amend(named, changes, {"repetitions": starts})
    plan = new_plan(protocol, catalog, choice, own, seed)
    sys.exit(execute(plan, execution, catalog))


@listed("plan", WithCommand)
@servers_argument
@language_option
@own_servers_options
@rate_protocol_options
@machine_options
@catalog_option
@json_option
def plan_command(
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    own: OwnServers,
    protocol: Protocol,
    hosts: Hosts,
    catalog: str | None,
    as_json: bool,
) -> None:
    """It builds, starts and measures nothing. SERVERS are names or globs; the default is every
    server that is ready here.

    \b
    Examples:
      deadheat plan go-gin node-http
      deadheat plan --protocol quick go-gin node-http
      deadheat plan go-gin -- ./my-server --port {port}
      deadheat plan --protocol kzmake-2018 --duration-scale 0.1
    """
    choice = Choice(servers, languages, only_ready=hosts.server is None)  # as in a run
    plan = new_plan(protocol, open_catalog(catalog), choice, own, 0)
    names = [*(each.name for each in plan.selections), *(each.name for each in plan.extra)]
    forecast: Outline | Estimate
    if isinstance(plan.protocol, AloneProtocol):
        fitted = fit_here(on_hosts(plan.protocol, beside=not hosts), hosts)
        protocol = fitted.protocol
        forecast = outline(protocol, names, plan.labels, plan.missing, fitted.remarks)
    else:
        protocol = within_budget(plan.protocol, len(names))
        lacking = [
            name
            for name in protocol.requested
            for each in plan.selections
            if name not in each.server.manifest.answered
        ]
        compilers = {each.name: compiler_of(each) for each in plan.selections}
        forecast = estimate(protocol, names, lacking, compilers)
    if as_json:
        echo_json({**forecast.to_json(), "protocol": protocol.model_dump()})
        return
    echo("\n".join(_folded(forecast.lines())))


def _folded(lines: Sequence[str]) -> list[str]:
    """The lines of a plan, on a terminal with what is too long below its text."""
    if not sys.stdout.isatty():
        return [*lines]
    width, indent = shutil.get_terminal_size().columns, " " * len("contenders    ")
    return [
        part
        for line in lines
        for part in textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)
    ]


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
