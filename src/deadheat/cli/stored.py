"""The store that commands open, the file of --output; and `deadheat export`, `import`, `clean`."""

import datetime
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from deadheat import report
from deadheat.build.leftovers import Leftovers, alone_with, builds_in, logs_in, make_room
from deadheat.cli.help import Topic, flag, listed
from deadheat.cli.options import FILE, integer, store_option
from deadheat.console import fit
from deadheat.errors import DeadheatError, StoreError
from deadheat.home import home
from deadheat.numbers import MIB, count
from deadheat.output import echo, echo_rendered
from deadheat.report.model.kept import kept_path
from deadheat.report.model.runs import find_run, reading
from deadheat.store import Store
from deadheat.store.bundle import export_run, import_runs, open_bundle
from deadheat.store.listing import (
    delete_runs,
    ended_before,
    run_argument,
    run_ids,
    runs_under_way,
    size_bytes,
)

MEASURE = "measure with deadheat run, or choose another store with --store FILE"


def command_line() -> list[str]:
    """This call of deadheat, as runs and reports quote it."""
    return ["deadheat", *sys.argv[1:]]


def stored(path: Path, hint: str = MEASURE) -> Store:
    """Open the store read-only.

    Raises `StoreError` with `hint` if the store is missing or empty.
    """
    if not path.exists():
        raise StoreError(f"the store {path} does not exist", hint)
    if path.is_file() and path.stat().st_size == 0:
        raise StoreError(f"{path} is empty: no run is stored in it", hint)
    return Store(path, read_only=True)


@contextmanager
def read_from(bundle: Path | None, store_path: Path) -> Iterator[Store]:
    """The bundle if there is one, else the store. `StoreError` names a bundle with other faults."""
    if bundle is None:
        with stored(store_path) as store:
            yield store
        return
    with open_bundle(bundle) as store, reading(bundle):
        yield store


def show(content: str | bytes, as_utf8: bool, output: Path | None, source: Path) -> None:
    """Write a report to the file of --output, or print it in the encoding of the output.

    `as_utf8`: it is printed for a file or a pipe. Raises `DeadheatError` if the file cannot be
    written, or is `source`.
    """
    if output is not None:
        require_another(output, source)
        plain = content if isinstance(content, bytes) else click.unstyle(content).encode()
        try:
            output.write_bytes(plain)
        except OSError as error:
            cause = f"--output {output}: {error.strerror}"
            raise DeadheatError(cause, "choose another file") from error
        return
    if isinstance(content, bytes) and sys.stdout.isatty():
        raise DeadheatError("--format png: a terminal cannot show a picture", "add -o FILE")
    if isinstance(content, str):
        content = content.encode() if as_utf8 else fit(content, sys.stdout.encoding)
    echo_rendered(content)


def require_another(output: Path, source: Path, flag: str = "--output") -> None:
    """Raises `DeadheatError` if the file of `flag` would replace `source`, which is in use."""
    if output.resolve() == source.resolve():
        raise DeadheatError(
            f"{flag} {output}: the command also uses this file, and writing it would delete what "
            "it holds",
            "choose another file",
        )


def warn_of_running_runs(store: Store) -> None:
    """Warn about each run of this store in progress: two runs disturb each other."""
    for run_id in runs_under_way(store):
        warning = f"run {run_id} is in progress: two runs disturb each other; stop one"
        echo(warning, fg="yellow", err=True)


@listed("export")
@click.argument("run", required=False)
@flag(
    "-o",
    "--output",
    section=Topic.OUTPUT,
    type=FILE,
    help="File to write.  [default: RUN.deadheat]",
)
@store_option
def export_command(run: str | None, output: Path | None, store_path: Path) -> None:
    """RUN is an id, its last part or a unique beginning; the default is the last run. Anyone can
    regenerate every figure from the bundle. It has all data of the run, including commands with
    their paths, logs and the description of the machine: look at it before you publish it.

    \b
    Example:
      deadheat export b837 -o gin-and-echo.deadheat
      deadheat report --from gin-and-echo.deadheat   on any machine
    """
    with stored(store_path) as store:
        run_id = find_run(store, run)
        bundle = output or Path(f"{run_id}.deadheat")
        require_another(bundle, store_path)
        export_run(store, run_id, bundle)
    echo(f"{bundle}: run {run_id}, {bundle.stat().st_size / 1024:,.0f} KiB")
    echo(f"read it on any machine:  deadheat report --from {shlex.quote(str(bundle))}")


@listed("import")
@click.argument("bundle", type=FILE)
@store_option
def import_command(bundle: Path, store_path: Path) -> None:
    """Their reports say that they were measured elsewhere. To look at a bundle without adding it:
    deadheat report --from BUNDLE.

    \b
    Example:
      deadheat import gin-and-echo.deadheat
    """
    make_room(store_path.absolute().parent)
    with open_bundle(bundle) as foreign:
        _require_reports(foreign, bundle)
        with Store(store_path) as store:
            ids = import_runs(store, foreign, bundle.name)
    for run_id in ids:
        echo(f"imported {run_id}:  deadheat report {run_argument(run_id, store_path)}")


def _require_reports(foreign: Store, bundle: Path) -> None:
    """Raises `StoreError` if a run of the bundle cannot be reported."""
    for run_id in run_ids(foreign):
        with reading(bundle):
            report.write(report.load_view(foreign, run_id, whole=True), "json")


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
    type=integer(0, 100_000),
    metavar="DAYS",
    help="Delete stored runs that began more than this many days ago.",
)
@flag("-y", "--yes", section=Topic.OTHER, is_flag=True, help="Delete without asking.")
@store_option
def clean_command(logs: bool, builds: bool, days: int | None, yes: bool, store_path: Path) -> None:
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
            "nothing was deleted: there is no terminal to ask on", "add --yes to delete all of this"
        )
    click.confirm("delete them?", abort=True)
