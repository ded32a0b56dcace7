"""`deadheat cluster`: races servers on many pairs of hosts, which Ray provides.

`python -m deadheat.cli.cluster PID ...` is deadheat that ends when the process PID ends, which
started it: a worker of Ray is killed with its node, and its run must not go on.
"""

import datetime
import os
import signal
import sys
from pathlib import Path

import click

from deadheat.build.leftovers import make_room
from deadheat.catalog import find_root, selection
from deadheat.cli import SUMMARIES, main
from deadheat.cli.choice import answering, chosen_servers, open_catalog
from deadheat.cli.endings import ExitCode
from deadheat.cli.help import Command, CommandGroup, Topic, flag
from deadheat.cli.options import (
    DURATION,
    FOLDER,
    catalog_option,
    complete_servers,
    integer,
    json_option,
)
from deadheat.cli.progress_view import progress_view
from deadheat.cli.race_options import (
    connections_option,
    margin_option,
    workload_option,
    workload_values,
)
from deadheat.cli.stored import command_line
from deadheat.errors import DeadheatError, UsageFault
from deadheat.home import home
from deadheat.host.agent.init import end_with
from deadheat.output import echo, echo_json, echo_rendered, print_error

SHARED = 2  # servers that run on every pair, if none is named
CLUSTERS = "clusters"  # the folder of cluster runs in the home of deadheat


@click.group("cluster", cls=CommandGroup, summary=SUMMARIES["cluster"])
def command() -> None:
    """\b
    Examples:
      deadheat cluster run 'go-*' 'rust-*' --address 192.168.10.2:6379
      deadheat cluster report
    """


@command.command("run", cls=Command)
@click.argument("servers", nargs=-1, required=True, shell_complete=complete_servers)
@flag(
    "--address",
    section=Topic.MACHINES,
    default=lambda: os.environ.get("RAY_ADDRESS", "auto"),
    metavar="HOST:PORT",
    help="Address of the Ray cluster.  [default: RAY_ADDRESS, or the cluster of this host]",
)
@flag(
    "--shared",
    section=Topic.SERVERS,
    multiple=True,
    metavar="NAME",
    help="Server that runs on every pair of hosts, so that pairs can be compared; repeat it for "
    "several.  [default: the first two]",
)
@flag(
    "--together",
    section=Topic.MEASUREMENT,
    type=integer(1, 50),
    default=6,
    help="Number of servers in a run besides the shared ones.  [default: 6]",
)
@flag(
    "--ssh-user", section=Topic.MACHINES, metavar="USER", help="User on the server hosts, for ssh."
)
@flag(
    "--protocol",
    section=Topic.MEASUREMENT,
    metavar="NAME|FILE",
    help="What to measure and how; `deadheat protocols` lists the names.  [default: settle]",
)
@workload_option
@connections_option
@flag(
    "--budget",
    section=Topic.MEASUREMENT,
    type=DURATION,
    help="Stop each run after this long, even if undecided.  [default: 5m in settle]",
)
@margin_option
@flag(
    "--load-threads",
    section=Topic.LOAD,
    type=integer(),
    help="Number of CPUs for the load generator.",
)
@flag(
    "-o",
    "--output",
    section=Topic.OUTPUT,
    type=FOLDER,
    metavar="DIR",
    help="Folder for the bundles of all runs.",
)
@catalog_option
@json_option
def run(
    servers: tuple[str, ...],
    address: str,
    shared: tuple[str, ...],
    together: int,
    ssh_user: str | None,
    protocol: str | None,
    connections: tuple[int, ...] | None,
    budget: float | None,
    margin: float | None,
    load_threads: int | None,
    workload: str | None,
    output: Path | None,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Race servers on every pair of hosts, and rank all of them.

    SERVERS are names or globs. Each pair carries out ordinary runs of some servers, the shared
    ones and the controls. The catalog, a protocol or a workload that is a file has to be at the
    same path on every load host.

    \b
    Examples:
      deadheat cluster run 'go-*' --address 192.168.10.2:6379
      deadheat cluster run 'python-*' --shared python-flask --shared go-net-http --budget 3m
    """
    from deadheat.cluster.on_ray import ray_cluster
    from deadheat.cluster.race import ClusterRace
    from deadheat.cluster.result import ClusterRecord
    from deadheat.protocol import SliceProtocol, amend, load_as

    root = find_root(catalog)
    rules = amend(
        load_as(root, protocol or "settle", SliceProtocol),
        {"connections": connections, "workloads": workload_values(root, workload)},
        {"budget_s": budget, "margin": margin},
    )
    opened = open_catalog(catalog)
    patterns = list(dict.fromkeys([*servers, *shared]))
    chosen = answering([selection(s) for s in chosen_servers(opened, patterns)], rules)
    names = tuple(each.name for each in chosen)
    common = {each.name for each in chosen_servers(opened, shared)} if shared else {*names[:SHARED]}
    if lost := sorted(common - {*names}):
        raise UsageFault(
            f"--shared {', '.join(lost)}: expected servers that answer one of the workloads",
            "name others: the shared servers link the pairs of hosts",
        )
    options = {
        "--protocol": protocol,
        "--connections": ",".join(map(str, connections)) if connections else None,
        "--budget": f"{budget:g}s" if budget else None,
        "--margin": f"{100 * margin:g}%" if margin else None,
        "--load-threads": load_threads,
        "--workload": workload,
        "--catalog": Path(catalog).absolute() if catalog else None,
    }
    given = [(name, str(value)) for name, value in options.items() if value is not None]
    now = datetime.datetime.now(datetime.UTC)
    folder = output or home() / CLUSTERS / f"{now:%Y%m%d-%H%M%S}"
    if folder.exists() and any(folder.iterdir()):
        raise DeadheatError(f"--output {folder}: it is not empty", "name a new folder")
    make_room(folder)
    with ray_cluster(address, ssh_user) as cluster, progress_view() as listen:
        plan = ClusterRecord(
            started_at=now.isoformat(timespec="seconds"),
            command=tuple(command_line()),
            servers=names,
            shared=tuple(name for name in names if name in common),
            words=tuple(word for pair in given for word in pair),
            together=together,
            margin=rules.stopping.margin,
            confidence=rules.stopping.confidence,
            pairs=cluster.pairs,
            left_over=cluster.left_over,
        )
        record = ClusterRace(plan, cluster, folder, listen).run()
    _print(folder, as_json)
    if record.state == "interrupted":
        sys.exit(ExitCode.INTERRUPTED)
    if record.given_up:
        missing = ", ".join(record.given_up)
        print_error(f"not measured: {missing}", "the lines with `!` above say why")
        sys.exit(ExitCode.NO_ANSWER)


@command.command("report", cls=Command)
@click.argument("folder", required=False, type=FOLDER)
@json_option
def report(folder: Path | None, as_json: bool) -> None:
    """Show a cluster run again.

    FOLDER has its bundles; the default is the last one.

    \b
    Examples:
      deadheat cluster report
      deadheat report --from FOLDER/0001-pair-1.deadheat   one of its runs
    """
    if folder is None:
        folders = sorted((home() / CLUSTERS).glob("*/cluster.json"))
        if not folders:
            raise DeadheatError(
                f"{home() / CLUSTERS} has no cluster run",
                "measure with deadheat cluster run, or name FOLDER",
            )
        folder = folders[-1].parent
    _print(folder, as_json)


def _print(folder: Path, as_json: bool) -> None:
    from deadheat.cluster.result import combine, document, read_record, text
    from deadheat.console import fit

    combined = combine(folder, read_record(folder))
    if as_json:
        echo_json(document(combined))
        return
    echo_rendered(fit(text(combined), sys.stdout.encoding))
    echo(f"stored in:  {folder}")


if __name__ == "__main__":
    end_with(int(sys.argv.pop(1)), signal.SIGTERM)  # which deadheat takes as an interrupt
    main()
