"""`deadheat run`: races servers and ranks them."""

import functools
import sys
from dataclasses import replace
from pathlib import Path

import click

from deadheat.cli.attempt import Attempt
from deadheat.cli.choice import Choice, new_plan, require_sense
from deadheat.cli.containers import Runtime, runtime_options
from deadheat.cli.hosts import Hosts, host_options
from deadheat.cli.limits import isolate_option, limit_options
from deadheat.cli.link_return import over_links
from deadheat.cli.options import (
    FILE,
    catalog_option,
    install_option,
    json_option,
    language_option,
    protocol_options,
    seed_option,
    setting_option,
    store_option,
    verbose_option,
)
from deadheat.cli.own import OwnServers, WithCommand, own_options
from deadheat.cli.results import exit_code_of, print_decay, print_results
from deadheat.cli.resume import extended_plan, rest_of_run, resumed_plan
from deadheat.cli.server_names import complete_servers
from deadheat.cli.stored import require_another
from deadheat.cli.values import Duration, Levels
from deadheat.cli.workbench import make_room, open_catalog
from deadheat.errors import DeadheatError, Unmeasurable
from deadheat.host import Limits
from deadheat.protocol import Protocol
from deadheat.store import home

LATENCY_S = 5.0
URL = "URL of a server that runs already, to race it too; repeat it for several."


@click.command("run", cls=WithCommand)
@click.argument("servers", nargs=-1, shell_complete=complete_servers)
@language_option
@protocol_options
@click.option(
    "--workers",
    type=Levels(),
    help="Measure each server with these numbers of workers, e.g. 1,2,4.",
)
@setting_option
@click.option("--url", "urls", multiple=True, metavar="URL", help=URL)
@own_options
@click.option(
    "--latency",
    is_flag=True,
    help="Also measure latency at 50, 70 and 90 % of each server's maximum rate.",
)
@seed_option
@click.option("--resume", metavar="RUN", help="Continue a run that ended early.")
@click.option(
    "--more",
    "more_s",
    type=Duration(),
    help="Give a run that has spent its budget this much more time: --more 5m RUN.",
)
@install_option
@click.option(
    "--wait-quiet",
    "wait_quiet_s",
    type=Duration(),
    metavar="[=DURATION]",
    help="First wait until the machine is quiet, for 10 minutes or this long at most.",
)
@click.option("-o", "--output", type=FILE, help="File for the result as Markdown.")
@limit_options
@isolate_option
@runtime_options
@host_options
@click.option(
    "--link-wait",
    "link_wait_s",
    type=Duration(),
    default="10m",
    show_default=True,
    help="Time to wait for a lost connection to another host.",
)
@catalog_option
@store_option
@json_option
@verbose_option
@click.pass_context
def command(
    ctx: click.Context,
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    protocol: Protocol | None,
    workers: tuple[int, ...] | None,
    setting: str,
    own: OwnServers,
    latency: bool,
    seed: int,
    resume: str | None,
    more_s: float | None,
    install: bool,
    wait_quiet_s: float | None,
    output: Path | None,
    limits: Limits,
    isolate: bool,
    runtime: Runtime,
    hosts: Hosts,
    link_wait_s: float,
    catalog: str | None,
    store_path: Path,
    as_json: bool,
    verbose: bool,
) -> None:
    """Race servers until their order is settled, and rank them.

    SERVERS are names or globs; the default is every server that is ready here. COMMAND starts a
    server of your own; {port} stands for its port. The result says which servers differ, by how
    much, what is open, and what to type next. Ctrl-C stops a run; --resume continues it.

    \b
    Examples:
      deadheat run                                   every server that is ready here
      deadheat run go-net-http node-http             two servers
      deadheat run 'python-*' --connections 10,100 --budget 3m
      deadheat run --language go --duration 2s --repetitions 3
      deadheat run go-gin -- ./my-server --port {port}
      deadheat run go-gin --url http://127.0.0.1:8080/
      deadheat run go-gin node-http --workload hello,route,wait
      deadheat run --resume 20261120                 continue a run that ended early
      deadheat run --more 5m b837                    decide what a run left open
      deadheat run go-gin node-http --server-host lab@192.168.10.10
    """
    runtime.require_sense(
        install=install, isolate=isolate, server_host=hosts.server, load_host=any(hosts.loads)
    )
    servers_catalog = open_catalog(catalog)
    if more_s is not None:
        plan = extended_plan(ctx, store_path, more_s, servers, servers_catalog)
    elif protocol is None:
        plan = resumed_plan(ctx, store_path, resume, servers_catalog, LATENCY_S)
    else:
        choice = Choice(servers, languages, setting, workers or (None,))
        latency_s = LATENCY_S if latency else None
        own = replace(own, elsewhere=hosts.server is not None)
        plan = new_plan(protocol, servers_catalog, choice, own, seed, latency_s)
    require_sense(plan)
    if isolate and any(contender.url for contender in plan.extra):
        raise DeadheatError(
            "--isolate: a server that runs already is outside the network namespace of the load",
            "start it by its command behind `--`, or omit --isolate",
        )
    if output is not None:
        require_another(output, store_path)
    make_room(store_path.parent, home(), *([output.parent] if output else []))
    try:
        rest = functools.partial(
            rest_of_run, store_path, catalog=servers_catalog, latency_s=LATENCY_S
        )
        attempt = Attempt(store_path, install, limits, isolate, runtime, hosts, wait_quiet_s)
        run_id = over_links(plan, attempt, rest, hosts, store_path, link_wait_s)
    except Unmeasurable as error:
        if as_json and error.run_id is not None:
            print_results(store_path, error.run_id, output, as_json, verbose)
        raise
    if not as_json and plan.protocol.recovery is not None:
        print_decay(store_path, run_id, servers_catalog.root)
    sys.exit(exit_code_of(print_results(store_path, run_id, output, as_json, verbose)))
