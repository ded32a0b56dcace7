"""`deadheat footprint`: what servers take up, without a race."""

import sys
from dataclasses import replace

from deadheat.cli.choice import open_catalog
from deadheat.cli.execution import Execution, execute, execution_options
from deadheat.cli.help import Topic, WithCommand, flag, listed
from deadheat.cli.options import language_option, seed_option, servers_argument, setting_option
from deadheat.cli.own_options import own_servers_options
from deadheat.cli.race_options import one_transport_option, one_workload_option, workload_values
from deadheat.cli.run import Choice, new_plan
from deadheat.cli.values import Levels, Number
from deadheat.errors import UsageFault
from deadheat.measure.own_servers import OwnServers
from deadheat.protocol import AloneProtocol, amend, load_as


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
    type=Levels(),
    help="Numbers of idle connections after which memory is read.  [default: 1000,10000]",
)
@flag(
    "--starts",
    section=Topic.MEASUREMENT,
    type=Number(),
    help="Start each server this many times.  [default: 5]",
)
@seed_option
@execution_options
def command(
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
    choice = Choice(servers, languages, setting, (None,))
    if not choice and not own:
        raise UsageFault("no server to measure", "name some: deadheat footprint go-gin")
    changes = {
        "idle_connections": idle_connections,
        "workloads": workload_values(catalog.root, workload),
        "transports": transport and (transport,),
    }
    named = load_as(catalog.root, "footprint", AloneProtocol)
    protocol = amend(named, changes, {"repetitions": starts})
    own = replace(own, elsewhere=execution.hosts.server is not None)
    plan = new_plan(protocol, catalog, choice, own, seed, None)
    sys.exit(execute(plan, execution, catalog))
