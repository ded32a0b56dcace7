"""`deadheat run`: races servers and ranks them."""

import sys
from dataclasses import dataclass

from deadheat.campaign.campaign import LATENCY_S, Plan
from deadheat.catalog import Catalog, FileFault, Selection, selection
from deadheat.cli.choice import answering, chosen_servers, no_race, open_catalog, replay_lineup
from deadheat.cli.execution import Execution, execute, execution_options
from deadheat.cli.help import Topic, WithCommand, flag, listed
from deadheat.cli.options import language_option, seed_option, servers_argument, setting_option
from deadheat.cli.own_options import own_servers_options
from deadheat.cli.race_options import rate_protocol_options
from deadheat.cli.stored import command_line
from deadheat.cli.values import Levels
from deadheat.measure.own_servers import OwnServers
from deadheat.protocol import Protocol, SearchProtocol


@listed("run", WithCommand)
@servers_argument
@language_option
@setting_option
@flag(
    "--workers",
    section=Topic.SERVERS,
    type=Levels(),
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
def command(
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
    """SERVERS are names or globs; the default is every server that is ready here. COMMAND starts a
    server of your own; {port} stands for its port. The result says which servers differ, by how
    much, what is open, and what to type next. Ctrl-C stops a run; `deadheat resume` continues it.

    \b
    Examples:
      deadheat run                                   every server that is ready here
      deadheat run go-net-http node-http             two servers
      deadheat run 'python-*' --connections 10,100 --budget 3m
      deadheat run --language go --duration 2s --repetitions 3
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
        Choice(servers, languages, setting, workers or (None,)),
        own,
        seed,
        LATENCY_S if latency else None,
    )
    sys.exit(execute(plan, execution, catalog))


@dataclass(frozen=True, slots=True)
class Choice:
    """The servers of the catalog that the command line names."""

    patterns: tuple[str, ...]
    languages: tuple[str, ...]
    setting: str
    workers: tuple[int | None, ...]  # None: as the setting says

    def __bool__(self) -> bool:
        return bool(self.patterns or self.languages)

    def selections(self, catalog: Catalog) -> list[Selection]:
        """Raises `FileFault` with every server that lacks the setting or the workers."""
        selections, faults = [], {}
        for server in chosen_servers(catalog, self.patterns, self.languages):
            for workers in self.workers:
                try:
                    selections.append(selection(server, self.setting, workers))
                except FileFault as fault:
                    faults[server.name] = fault
        if faults:
            hints = dict.fromkeys(fault.hint for fault in faults.values() if fault.hint)
            raise FileFault("\n".join(map(str, faults.values())), "; ".join(hints))
        return selections


def new_plan(
    protocol: Protocol,
    catalog: Catalog,
    choice: Choice,
    own: OwnServers,
    seed: int,
    latency_s: float | None,
) -> Plan:
    """The plan of a new run. Raises `DeadheatError` for a choice that cannot be measured."""
    if isinstance(protocol, SearchProtocol):
        raise no_race(protocol)
    own, asked = own.with_workload(protocol, alone=not choice)
    lineup = replay_lineup(asked, catalog, choice.patterns, choice.languages)
    if lineup is not None:
        selections = list(lineup.selections)
    else:  # own servers race alone unless servers of the catalog are named too
        selections = choice.selections(catalog) if choice or not own else []
        selections = answering(selections, asked)
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
