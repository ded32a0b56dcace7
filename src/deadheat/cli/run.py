"""`deadheat run`: races servers and ranks them."""

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import click

from deadheat import report
from deadheat.audit.formats import write
from deadheat.audit.replay import load_replay
from deadheat.campaign.campaign import Plan, conduct
from deadheat.catalog import Catalog, FileFault, Selection, selection
from deadheat.cli.containers import Runtime, builder_of, runtime_options
from deadheat.cli.exit_codes import ExitCode, explain
from deadheat.cli.hosts import Hosts, host_options
from deadheat.cli.install import install_missing
from deadheat.cli.limits import isolate_option, limit_options
from deadheat.cli.link_return import await_link, say_waiting
from deadheat.cli.options import (
    FILE,
    Duration,
    Levels,
    catalog_option,
    install_option,
    json_option,
    protocol_options,
    seed_option,
    store_option,
    verbose_option,
)
from deadheat.cli.own import OwnServers, WithCommand, own_options
from deadheat.cli.progress_view import progress_view
from deadheat.cli.quiet import asker, require_quiet
from deadheat.cli.replay import decay_of, on_hosts, replay_lineup
from deadheat.cli.resume import extended_plan, rest_of_run, resumed_plan
from deadheat.cli.server_names import complete_servers
from deadheat.cli.stored import require_another, run_argument
from deadheat.cli.two_hosts import world_on
from deadheat.cli.workbench import (
    answering,
    chosen_servers,
    command_line,
    host_for_builds,
    make_room,
    open_catalog,
    warn_of_running_runs,
)
from deadheat.errors import DeadheatError, LinkLost, Unmeasurable
from deadheat.host import Limits
from deadheat.output import echo, echo_rendered
from deadheat.protocol import Protocol
from deadheat.report.format import duration
from deadheat.report.formats.encoding import fit
from deadheat.report.model.view import RunView
from deadheat.store import Store, home

LATENCY_S = 5.0


@click.command("run", cls=WithCommand)
@click.argument("servers", nargs=-1, shell_complete=complete_servers)
@click.option("--language", "languages", multiple=True, help="Only servers in this language.")
@protocol_options
@click.option("--workers", type=Levels(), help="Numbers of workers of each server, e.g. 1,2,4.")
@click.option("--setting", default="default", help="Setting of the servers, e.g. multicore.")
@click.option("--url", "urls", multiple=True, help="URL of a running server to race.")
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
    help="Give a run that spent its budget this much more time: --more 5m RUN.",
)
@install_option
@click.option(
    "--wait-quiet",
    "wait_quiet_s",
    type=Duration(),
    metavar="[=DURATION]",
    help="Wait until the machine is quiet, up to 10 minutes or this long.",
)
@click.option("-o", "--output", type=FILE, help="File for the table as Markdown.")
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

    SERVERS are names or globs; the default is every server that is ready here.

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
        choice = _Choice(servers, languages, setting, workers or (None,))
        latency_s = LATENCY_S if latency else None
        roles = on_hosts(protocol, hosts)
        own = replace(own, elsewhere=hosts.server is not None)
        plan = _new_plan(roles, servers_catalog, choice, own, seed, latency_s)
    _require_sense(plan)
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
        attempt = functools.partial(
            _carry_out,
            store_path=store_path,
            install=install,
            limits=limits,
            isolate=isolate,
            runtime=runtime,
            hosts=hosts,
            wait_quiet_s=wait_quiet_s,
        )
        run_id = _over_links(plan, attempt, rest, hosts, link_wait_s)
    except Unmeasurable as error:
        if as_json and error.run_id is not None:
            _print_results(store_path, error.run_id, output, as_json, verbose)
        raise
    if not as_json and plan.protocol.recovery is not None:
        _print_decay(store_path, run_id, servers_catalog.root)
    sys.exit(_exit_code(_print_results(store_path, run_id, output, as_json, verbose)))


@dataclass(frozen=True, slots=True)
class _Choice:
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


def _new_plan(
    protocol: Protocol,
    catalog: Catalog,
    choice: _Choice,
    own: OwnServers,
    seed: int,
    latency_s: float | None,
) -> Plan:
    lineup = replay_lineup(protocol, catalog, choice.patterns, choice.languages)
    if lineup is not None:
        selections = list(lineup.selections)
    else:  # own servers race alone unless servers of the catalog are named too
        selections = choice.selections(catalog) if choice or not own else []
        selections = answering(selections, protocol)
    names = {chosen.name for chosen in selections}
    return Plan(
        protocol=protocol,
        selections=selections,
        labels=lineup.labels if lineup else {},
        extra=own.contenders(names, protocol),
        seed=seed,
        command=command_line(),
        latency_s=latency_s,
        missing=lineup.missing if lineup else {},
    )


def _require_sense(plan: Plan) -> None:
    """Raises `DeadheatError` for a plan that cannot be carried out."""
    if plan.latency_s is not None and plan.protocol.generator != "engine":
        raise DeadheatError(
            f"--latency: {plan.protocol.generator} cannot send at a fixed rate",
            "use --generator engine, or omit --latency",
        )
    if plan.left is None and len(plan.selections) + len(plan.extra) == 0:
        raise DeadheatError("no server to run", "`deadheat list` lists the servers")


def _over_links(
    plan: Plan,
    attempt: Callable[[Plan], str],
    rest: Callable[[str], Plan],
    hosts: Hosts,
    wait_s: float,
) -> str:
    """Carry out the plan; go on with the rest of the run each time that a lost link is back."""
    while True:
        try:
            return attempt(plan)
        except LinkLost as lost:
            if lost.run_id is None or plan.extra:
                raise
            say_waiting(lost, wait_s)
            if not await_link(hosts.far, wait_s):
                raise DeadheatError(
                    f"{lost}, and was not back within {duration(wait_s)}",
                    f"when it is back: deadheat run --resume {lost.run_id}, with the same hosts",
                ) from lost
            plan = rest(lost.run_id)


def _carry_out(
    plan: Plan,
    store_path: Path,
    install: bool,
    limits: Limits,
    isolate: bool,
    runtime: Runtime,
    hosts: Hosts,
    wait_quiet_s: float | None,
) -> str:
    """Run the plan; returns the id of the run."""
    protocol, crowded = plan.protocol, plan.protocol.origin is not None
    port = protocol.origin.port if protocol.origin else None
    with (
        Store(store_path) as store,
        world_on(
            hosts,
            protocol.generator,
            protocol.threads,
            crowded,
            limits,
            isolate,
            port=port,
            containers=bool(runtime),
        ) as world,
        host_for_builds(world, limits, isolate) as host,
        builder_of(runtime, host, world, limits) as builder,
    ):
        warn_of_running_runs(store)
        if install:
            install_missing(host, [chosen.server for chosen in plan.selections])
        require_quiet(world, wait_quiet_s, asker())
        with progress_view() as listen:
            return conduct(plan, world, store, builder, listen)


def _print_decay(store_path: Path, run_id: str, root: Path) -> None:
    with Store(store_path, read_only=True) as store:
        page = decay_of(store, load_replay(store, run_id), root)
    echo(fit(write(page, "text"), sys.stdout.encoding))


def _print_results(
    store_path: Path, run_id: str, output: Path | None, as_json: bool, verbose: bool
) -> RunView:
    """Print the result of the run and write it to a file; returns the run."""
    with Store(store_path, read_only=True) as store:
        view = report.load_view(store, run_id, whole=as_json)
    markdown = output or home() / "reports" / f"{run_id}.md"
    make_room(markdown.parent)
    markdown.write_text(report.write(view, "md"), encoding="utf-8")
    source = run_argument(run_id, store_path)
    format_ = "json" if as_json else "terminal"
    echo_rendered(report.write(view, format_, source, verbose=verbose) + "\n")
    if not as_json:
        echo(f"as Markdown:  {markdown}")
        echo(f"stored in:    {store_path}  (run {run_id})")
    return view


def _exit_code(view: RunView) -> ExitCode:
    """Says on standard error why a run that ended has no answer."""
    if view.state == "interrupted":
        return ExitCode.INTERRUPTED
    contenders = [contender for each in view.by_workload for contender in each.contenders]
    if any(trial.valid for contender in contenders for trial in contender.trials):
        return ExitCode.OK
    explain(
        "no trial was valid, so there is no result",
        "see the cautions above; `deadheat doctor` checks this machine",
    )
    return ExitCode.NO_ANSWER
