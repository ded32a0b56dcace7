"""`deadheat explain`: what servers do for a request, and where the gap between two comes from."""

import sys
from dataclasses import replace

from deadheat.catalog.manifest import Transport
from deadheat.cli.choice import open_catalog
from deadheat.cli.execution import Execution, execute, execution_options
from deadheat.cli.help import Topic, WithCommand, flag, listed
from deadheat.cli.options import seed_option, servers_argument, setting_option
from deadheat.cli.own_options import own_servers_options
from deadheat.cli.race_options import one_workload_option, transport_option, workload_values
from deadheat.cli.run import Choice, new_plan
from deadheat.cli.values import Levels, Number
from deadheat.errors import UsageFault
from deadheat.measure.own_servers import OwnServers
from deadheat.protocol import SliceProtocol, amend, load_as


@listed("explain", WithCommand)
@servers_argument
@setting_option
@own_servers_options
@one_workload_option
@transport_option
@flag("-c", "--connections", section=Topic.LOAD, type=Levels(), help="Number of connections.")
@flag(
    "--repetitions",
    section=Topic.MEASUREMENT,
    type=Number(),
    help="Measure each server this many times.  [default: 8]",
)
@flag(
    "--invocations",
    section=Topic.MEASUREMENT,
    type=Number(),
    help="Start each server anew this many times; intervals come from these.  [default: 4]",
)
@seed_option
@execution_options
def command(
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
    plan = new_plan(
        protocol,
        catalog,
        Choice(servers, (), setting, (None,)),
        replace(own, elsewhere=execution.hosts.server is not None),
        seed,
        None,
    )
    sys.exit(execute(replace(plan, explain=True), execution, catalog))
