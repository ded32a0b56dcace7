"""`deadheat regress`: checks whether a change makes a server slower."""

import sys
from collections.abc import Sequence
from pathlib import Path

from deadheat import report
from deadheat.build.builder import Builder
from deadheat.build.leftovers import make_room
from deadheat.build.runtime import builder_on, host_for_builds
from deadheat.campaign.campaign import Plan, conduct
from deadheat.campaign.revision import revisions_on
from deadheat.cli.endings import ExitCode
from deadheat.cli.help import Topic, WithCommand, flag, listed
from deadheat.cli.options import FILE, catalog_option, json_option, seed_option, store_option
from deadheat.cli.own_options import own_options
from deadheat.cli.progress_view import progress_view
from deadheat.cli.race_options import (
    host_options,
    isolate_option,
    native_only,
    protocol_options,
    revision_limit_options,
)
from deadheat.cli.stored import command_line, require_another, warn_of_running_runs
from deadheat.errors import DeadheatError, Unmeasurable, UsageFault
from deadheat.events import Listener
from deadheat.host import Limits
from deadheat.measure.hosts import Hosts, world_on
from deadheat.measure.own_servers import OwnServers
from deadheat.measure.world import World
from deadheat.output import echo, echo_json, print_error
from deadheat.protocol import Protocol, RateProtocol, Settle, SliceProtocol, amend
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.conclusion import answer
from deadheat.report.formats.regression import (
    Regression,
    comment,
    junit,
    regressions,
    sentence,
    worst,
)
from deadheat.report.model.view import RunView
from deadheat.stats.ranking.change import Outcome
from deadheat.store import Store
from deadheat.store.listing import run_argument

STARTS_SHARE = 0.4  # of a revision's time: with two contenders, a start holds up only one other
EXIT_CODES = {
    Outcome.PASS: ExitCode.OK,
    Outcome.FAIL: ExitCode.SLOWER,
    Outcome.INCONCLUSIVE: ExitCode.NO_ANSWER,
}


@listed("regress", WithCommand)
@flag(
    "--base", section=Topic.SERVERS, required=True, metavar="REV", help="Revision to compare with."
)
@flag(
    "--head",
    section=Topic.SERVERS,
    default="HEAD",
    show_default=True,
    metavar="REV",
    help="Revision with the change.",
)
@flag(
    "--build",
    section=Topic.SERVERS,
    metavar="COMMAND",
    help="Shell command that builds a revision, such as make.",
)
@own_options
@protocol_options
@revision_limit_options
@isolate_option
@native_only(
    "expected none, because --build and the command behind `--` say how revisions are built and "
    "started, and both run natively",
    "omit it, or run all of `deadheat regress` in a container that has your tools",
)
@host_options
@seed_option
@flag(
    "--comment",
    "comment_path",
    section=Topic.OUTPUT,
    type=FILE,
    help="File for the verdict as a comment on a pull request, in Markdown.",
)
@flag(
    "--junit",
    "junit_path",
    section=Topic.OUTPUT,
    type=FILE,
    help="File for the verdict as JUnit XML.",
)
@catalog_option
@store_option
@json_option
def command(
    base: str,
    head: str,
    build: str | None,
    own: OwnServers,
    protocol: Protocol,
    seed: int,
    comment_path: Path | None,
    junit_path: Path | None,
    limits: Limits,
    isolate: bool,
    hosts: Hosts,
    catalog: str | None,
    store_path: Path,
    as_json: bool,
) -> None:
    """Each revision is checked out into its own folder, built once by --build, and started there by
    the command behind `--`; {port} stands for its port. With --server-host, git runs here, and
    the build and the server run there.

    \b
    PASS          exit code 0   it is not slower by more than --margin
    FAIL          exit code 3   it is slower
    INCONCLUSIVE  exit code 4   neither is shown; the output has cause and fix
                  exit code 5   no trial was valid

    \b
    Examples:
      deadheat regress --base main -- ./my-server --port {port}
      deadheat regress --base main --head my-change --build 'make' -- ./server {port}
      deadheat regress --base v1.0 --comment comment.md -- node server.js {port}
    """
    _require_command(own.commands)
    if not isinstance(protocol, SliceProtocol) or isinstance(protocol, RateProtocol):
        raise DeadheatError(
            f"--protocol {protocol.name}: a change is judged in a race",
            "omit it, or use one such as settle",
        )
    own, judged = own.with_workload(protocol)
    if len(judged.transports) > 1:
        raise DeadheatError(
            f"--transport {','.join(judged.transports)}: expected one", "judge each in its own run"
        )
    sample = own.sample(judged)
    outputs = {"--comment": comment_path, "--junit": junit_path}
    for name, path in outputs.items():
        if path is not None:
            require_another(path, store_path, name)
    make_room(*(path.absolute().parent for path in (store_path, *outputs.values()) if path))
    with (
        Store(store_path) as store,
        world_on(hosts, judged.generator, judged.threads, limits=limits, isolate=isolate) as world,
        host_for_builds(world.server_host, limits, isolate) as host,
        revisions_on(host, limits, base, head, build) as revisions,
    ):
        warn_of_running_runs(store)
        with progress_view() as listen:
            plan = Plan(
                protocol=_asking_slower(judged),
                selections=[],
                labels={},
                extra=[
                    contender.over(judged.transports[0])
                    for contender in revisions.contenders(own, sample, listen)
                ],
                seed=seed,
                command=command_line(),
            )
            run_id, stopped = _conduct(plan, world, store, builder_on(host), listen)
    with Store(store_path, read_only=True) as store:
        view = report.load_view(store, run_id)
    outcomes = [
        outcome
        for each in view.by_workload
        for outcome in regressions(each, analyze(each), *revisions.names)
    ]
    if stopped is None and view.state == "complete":
        stopped = _without_valid_trial(view, store_path)
    if comment_path:
        comment_path.write_text(comment(view, outcomes), encoding="utf-8")
    if junit_path:
        junit_path.write_text(junit(view, outcomes), encoding="utf-8")
    _print(run_id, store_path, outcomes, stopped, as_json)
    if stopped is not None:
        raise stopped
    if view.state == "interrupted":
        sys.exit(ExitCode.INTERRUPTED)
    if worst(outcomes) is Outcome.INCONCLUSIVE:
        fixes = [outcome.fix for outcome in outcomes if outcome.fix]
        print_error("inconclusive: the data do not decide it", fixes[0] if fixes else "race again")
    sys.exit(EXIT_CODES[worst(outcomes)])


def _print(
    run_id: str,
    store_path: Path,
    outcomes: Sequence[Regression],
    stopped: Unmeasurable | None,
    as_json: bool,
) -> None:
    if as_json:
        document = {
            "run": run_id,
            "outcome": worst(outcomes).name,
            "why": str(stopped) if stopped else None,
            "fix": stopped.hint if stopped else None,
            "levels": [outcome.to_json() for outcome in outcomes],
        }
        echo_json(document)
        return
    echo("\n".join(sentence(outcome) for outcome in outcomes))
    echo(f"full report: deadheat report {run_argument(run_id, store_path)}")


def _conduct(
    plan: Plan, world: World, store: Store, builder: Builder, listen: Listener
) -> tuple[str, Unmeasurable | None]:
    """The run's id, and why it was stopped if nothing valid could be measured."""
    try:
        return conduct(plan, world, store, builder, listen), None
    except Unmeasurable as error:
        if error.run_id is None:
            raise
        return error.run_id, error


def _without_valid_trial(view: RunView, store_path: Path) -> Unmeasurable | None:
    """Why a run that spent its budget has no verdict, if no trial is valid."""
    trials = [t for each in view.by_workload for c in each.contenders for t in c.trials]
    if not trials or any(trial.valid for trial in trials):
        return None
    main = analyze(view).main
    return Unmeasurable(
        answer(view, main),
        f"see `deadheat report {run_argument(view.run_id, store_path)} -v`; `deadheat doctor` "
        "checks this machine",
    )


def _asking_slower(protocol: SliceProtocol) -> SliceProtocol:
    """The protocol with the question of `regress`, and with more starts than in a large field."""
    slices = protocol.slices.model_dump() | {"starts_share": STARTS_SHARE}
    settles = isinstance(protocol.stopping, Settle)
    return amend(protocol, {"slices": slices}, {"question": "slower"} if settles else {})


def _require_command(commands: Sequence[Sequence[str]]) -> None:
    if not any("{port}" in part for command in commands for part in command):
        raise UsageFault(
            "missing start command: expected a command behind `--`, with {port} for the port",
            "deadheat regress --base main -- ./my-server --port {port}",
        )
