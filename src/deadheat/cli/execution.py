"""How the plan of a run is executed: quiet machines, links that get lost, results, exit code."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import click

from deadheat import numbers, report
from deadheat.audit.decay import decay_page
from deadheat.audit.page import write
from deadheat.audit.replay import load_replay
from deadheat.build.leftovers import make_room
from deadheat.build.runtime import ServerRuntime, builder_of, host_for_builds
from deadheat.campaign.campaign import Plan, conduct, rest_of_run
from deadheat.campaign.resolve import within_budget
from deadheat.campaign.schedule import estimate
from deadheat.catalog import Catalog
from deadheat.catalog.toolchain import install_missing
from deadheat.cli.endings import ExitCode
from deadheat.cli.help import Decorator, Topic, flag
from deadheat.cli.options import (
    DURATION,
    FILE,
    catalog_option,
    install_option,
    json_option,
    store_option,
    verbose_option,
)
from deadheat.cli.progress_view import progress_view
from deadheat.cli.race_options import (
    Options,
    grouped,
    host_options,
    isolate_option,
    limit_options,
    runtime_options,
)
from deadheat.cli.stored import require_another, warn_of_running_runs
from deadheat.console import fit
from deadheat.errors import DeadheatError, LinkLost, Unmeasurable
from deadheat.events import Listener
from deadheat.home import home
from deadheat.host import Limits, ssh
from deadheat.measure.contender import compiler_of
from deadheat.measure.hosts import Hosts, require_quiet, world_on
from deadheat.output import echo, echo_rendered, print_error
from deadheat.protocol import AloneProtocol, RateProtocol, SliceProtocol
from deadheat.report.findings.footprint import is_asked
from deadheat.report.model.view import RunView
from deadheat.store import Store
from deadheat.store.listing import run_argument

BETWEEN_TRIES_S = 2.0  # to reach a host whose link was lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Where and how plans are executed, and what is shown: a resumed run may change all of it."""

    install: bool = False
    wait_quiet_s: float | None = None
    limits: Limits
    isolate: bool = False
    runtime: ServerRuntime = field(default_factory=ServerRuntime)
    hosts: Hosts = field(default_factory=Hosts)
    link_wait_s: float = 0.0
    output: Path | None = None
    as_json: bool = False
    verbose: bool = False
    catalog: str | None
    store_path: Path

    @property
    def is_plainly_here(self) -> bool:
        """Whether servers run natively on this machine, with the tools that it has now."""
        return not (self.install or self.runtime or self.hosts.server)

    def require_sense(self) -> None:
        """Raises `DeadheatError` for options that exclude each other."""
        self.runtime.require_sense(
            install=self.install,
            isolate=self.isolate,
            server_host=self.hosts.server,
            load_host=any(self.hosts.loads),
        )


def _execution(options: Options) -> Execution:
    return Execution(**{each.name: options.pop(each.name) for each in fields(Execution)})


def wait_quiet_option(begin: str) -> Decorator:
    """`begin` is how its help begins."""
    return flag(
        "--wait-quiet",
        "wait_quiet_s",
        section=Topic.MEASUREMENT,
        type=DURATION,
        bare="10m",
        metavar="[=DURATION]",
        help=f"{begin} until the machine is quiet, for 10 minutes or this long at most.",
    )


_LINK_WAIT = flag(
    "--link-wait",
    "link_wait_s",
    section=Topic.MACHINES,
    type=DURATION,
    default="10m",
    show_default=True,
    help="Time to wait for a lost connection to another host.",
)
_OUTPUT = flag(
    "-o", "--output", section=Topic.OUTPUT, type=FILE, help="File for the result as Markdown."
)


def execution_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The flags that may change when a run is resumed; the command gets them as `execution`."""
    decorators: tuple[Decorator, ...] = (
        install_option,
        wait_quiet_option("First wait"),
        limit_options,
        isolate_option,
        runtime_options,
        host_options,
        _LINK_WAIT,
        _OUTPUT,
        catalog_option,
        store_option,
        json_option,
        verbose_option,
        grouped("execution", _execution),
    )
    for decorator in reversed(decorators):
        command = decorator(command)
    return command


def execute(plan: Plan, execution: Execution, catalog: Catalog) -> ExitCode:
    """Carry out the plan, go on when a lost link is back, and print the results."""
    store_path, output = execution.store_path, execution.output
    _require_sense(plan, execution)
    _warn_of_budget(plan)
    if output is not None:
        require_another(output, store_path)
    make_room(store_path.parent, home(), *([output.parent] if output else []))
    try:
        run_id = _over_links(plan, execution, catalog)
    except Unmeasurable as error:
        if execution.as_json and error.run_id is not None:
            print_results(error.run_id, execution)
        raise
    if not execution.as_json and plan.protocol.recovery is not None:
        _print_decay(store_path, run_id, catalog.root)
    return exit_code_of(print_results(run_id, execution))


def _require_sense(plan: Plan, execution: Execution) -> None:
    """Raises `DeadheatError` for a plan that cannot be carried out."""
    if plan.latency_s is not None and isinstance(plan.protocol, AloneProtocol | RateProtocol):
        raise DeadheatError(
            f"--latency: protocol {plan.protocol.name} measures nothing but its own trials",
            "omit --latency, or race with --protocol settle",
        )
    if plan.left is None and len(plan.selections) + len(plan.extra) == 0:
        raise DeadheatError("no server to run", "`deadheat list` lists the servers")
    if execution.isolate and any(contender.url for contender in plan.extra):
        raise DeadheatError(
            "--isolate: a server that runs already is outside the network namespace of the load",
            "start it by its command behind `--`, or omit --isolate",
        )


def _warn_of_budget(plan: Plan) -> None:
    """Say before a new race if its budget is too short to measure anything."""
    if plan.left is not None or not isinstance(plan.protocol, SliceProtocol):
        return
    names = [*(each.name for each in plan.selections), *(each.name for each in plan.extra)]
    compilers = {each.name: compiler_of(each) for each in plan.selections}
    protocol = within_budget(plan.protocol, len(names))
    if too_short := estimate(protocol, names, compilers=compilers).too_short:
        echo(too_short, fg="yellow", err=True)


def _over_links(plan: Plan, execution: Execution, catalog: Catalog) -> str:
    """Carry out the plan; go on with the rest of the run each time that a lost link is back."""
    while True:
        try:
            return carry_out(plan, execution)
        except LinkLost as lost:
            if lost.run_id is None:
                raise
            within = numbers.duration(execution.link_wait_s)
            waits = f"{lost}; the run goes on if it is back within {within}"
            echo(waits + lost.said, fg="yellow", err=True)
            if not await_link(execution.hosts.far, execution.link_wait_s):
                run = run_argument(lost.run_id, execution.store_path)
                raise DeadheatError(
                    f"{lost}, and was not back within {within}",
                    f"when it is back: deadheat resume {run}, with the same hosts",
                ) from lost
            plan = rest_of_run(execution.store_path, lost.run_id, catalog)


def carry_out(
    plan: Plan,
    execution: Execution,
    heard_as: Callable[[Listener], Listener] = lambda listen: listen,
) -> str:
    """Run the plan until its end or until a link is lost; returns the id of the run.

    `heard_as` changes what the progress view hears.
    """
    limits, isolate, runtime = execution.limits, execution.isolate, execution.runtime
    protocol, origin = plan.protocol, plan.protocol.origin
    with (
        Store(execution.store_path) as store,
        world_on(
            execution.hosts,
            protocol.generator,
            protocol.threads,
            origin is not None,
            limits,
            isolate,
            port=origin.port if origin else None,
            containers=bool(runtime),
        ) as world,
        host_for_builds(world.server_host, limits, isolate) as host,
        builder_of(runtime, host, world.server_cpus, limits) as builder,
    ):
        warn_of_running_runs(store)
        if execution.install:
            install_missing(host, [chosen.server for chosen in plan.selections])
        require_quiet(world, execution.wait_quiet_s, _asker())
        with progress_view() as listen:
            return conduct(plan, world, store, builder, heard_as(listen))


def await_link(
    targets: Sequence[str],
    wait_s: float,
    reaches: Callable[[str], bool] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Whether every host can be reached again within about `wait_s`.

    The first try comes after `ssh.SILENCE_S`: until then the agent of the lost connection may still
    run what it started.
    """
    begun_s, pause_s = time.monotonic(), ssh.SILENCE_S
    reaches = reaches or _reaches
    while pause_s <= wait_s - (time.monotonic() - begun_s):
        sleep(pause_s)
        if all(reaches(target) for target in targets):
            return True
        pause_s = BETWEEN_TRIES_S
    return False


def _reaches(target: str) -> bool:
    try:
        ssh.SshHost(target).close()
    except (DeadheatError, LinkLost):
        return False
    return True


def _asker() -> Callable[[str], bool] | None:
    """A question on the terminal; None if there is no one to ask."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return lambda question: click.confirm(question, default=True, err=True)


def _print_decay(store_path: Path, run_id: str, root: Path) -> None:
    """Print decay and recovery of a run, with the published series that the catalog has."""
    with Store(store_path, read_only=True) as store:
        page = decay_page(load_replay(store, run_id), root)
    echo(fit(write(page, "text"), sys.stdout.encoding))


def print_results(run_id: str, execution: Execution) -> RunView:
    """Print the result of the run and write it to a file; returns the run."""
    store_path, as_json = execution.store_path, execution.as_json
    with Store(store_path, read_only=True) as store:
        view = report.load_view(store, run_id, whole=as_json)
    markdown = execution.output or home() / "reports" / f"{run_id}.md"
    make_room(markdown.parent)
    markdown.write_text(report.write(view, "md"), encoding="utf-8")
    source = run_argument(run_id, store_path)
    format_ = "json" if as_json else "terminal"
    echo_rendered(report.write(view, format_, source, verbose=execution.verbose) + "\n")
    if not as_json:
        echo(f"as Markdown:  {markdown}")
        echo(f"stored in:    {store_path}  (run {run_id})")
    return view


def exit_code_of(view: RunView) -> ExitCode:
    """The exit code of a run that ended; says on standard error why it has no answer."""
    if view.state == "interrupted":
        return ExitCode.INTERRUPTED
    contenders = [contender for each in view.by_workload for contender in each.contenders]
    explained = any(contender.explained for contender in contenders)
    if explained or any(t.valid for contender in contenders for t in contender.trials):
        return ExitCode.OK
    if is_asked(view):
        return ExitCode.OK
    print_error(
        "no trial was valid, so there is no result",
        "see the cautions above; `deadheat doctor` checks this machine",
    )
    return ExitCode.NO_ANSWER
