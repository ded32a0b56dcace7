"""`deadheat clean`: deletes logs, builds and old runs."""

import datetime
import sys
from pathlib import Path

import click

from deadheat.build.leftovers import Leftovers, alone_with, builds_in, logs_in, make_room
from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import store_option
from deadheat.cli.values import Number
from deadheat.errors import DeadheatError
from deadheat.home import home
from deadheat.numbers import MIB, count
from deadheat.output import echo
from deadheat.report.model.kept import kept_path
from deadheat.store import Store
from deadheat.store.pruning import delete_runs, ended_before, size_bytes


@listed("clean")
@flag(
    "--logs",
    section=Topic.STORED_RUNS,
    is_flag=True,
    help="Delete the logs of servers and load processes.",
)
@flag(
    "--builds",
    section=Topic.STORED_RUNS,
    is_flag=True,
    help="Delete the builds of servers and revisions.",
)
@flag(
    "--runs-older-than",
    "days",
    section=Topic.STORED_RUNS,
    type=Number(0, 100_000),
    metavar="DAYS",
    help="Delete stored runs that began more than this many days ago.",
)
@flag("-y", "--yes", section=Topic.OTHER, is_flag=True, help="Delete without asking.")
@store_option
def command(logs: bool, builds: bool, days: int | None, yes: bool, store_path: Path) -> None:
    """It first shows what that frees, and asks. Without an option it deletes logs and builds: the
    next run makes them again. Runs are deleted only with --runs-older-than, and cannot be made
    again; `deadheat export` keeps one in a file.

    \b
    Examples:
      deadheat clean                          logs and builds
      deadheat clean --runs-older-than 90     only old runs
    """
    everything = not (logs or builds or days is not None)
    folder = home() / "logs"
    make_room(folder)
    with alone_with(folder):
        leftovers: list[Leftovers] = []
        if logs or everything:
            leftovers.append(logs_in(folder))
        if builds or everything:
            leftovers.append(builds_in(home() / "builds", home() / "revisions"))
        old_runs = _old_runs(store_path, days)
        frees = {each.what: (each.number, each.size_bytes) for each in leftovers}
        if days is not None:
            frees["runs"] = (len(old_runs), sum(old_runs.values()))
        _print_frees(frees)
        if not (old_runs or any(each.paths for each in leftovers)):
            echo("nothing to delete")
            return
        if not yes:
            _ask()
        for each in leftovers:
            each.delete()
        if old_runs:
            with Store(store_path) as store:
                delete_runs(store, list(old_runs))
            for run_id in old_runs:
                (home() / "reports" / f"{run_id}.md").unlink(missing_ok=True)
                kept_path(run_id).unlink(missing_ok=True)
    echo("deleted")


def _old_runs(store_path: Path, days: int | None) -> dict[str, int]:
    """About the bytes that each run older than `days` takes, by its id; the newest first."""
    if days is None or not store_path.exists():
        return {}
    before = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=days)
    with Store(store_path, read_only=True) as store:
        return {run.run_id: size_bytes(store, run.run_id) for run in ended_before(store, before)}


def _print_frees(frees: dict[str, tuple[int, int]]) -> None:
    names = {"logs": "file", "builds": "build", "runs": "run"}
    for what, (number, size) in frees.items():
        echo(f"{what:8} {count(number, names[what]):>12}  {size / MIB:>10,.1f} MiB")
    if len(frees) > 1:
        size = sum(size for _, size in frees.values())
        echo(f"{'in all':8} {'':>12}  {size / MIB:>10,.1f} MiB")


def _ask() -> None:
    if not sys.stdin.isatty():
        raise DeadheatError(
            "nothing was deleted: there is no terminal to ask on", "deadheat clean --yes"
        )
    click.confirm("delete them?", abort=True)
