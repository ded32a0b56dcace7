"""Command-line options that several commands share."""

import functools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from deadheat.catalog import find_root
from deadheat.cli.values import Duration, Levels, Number, Share
from deadheat.errors import DeadheatError
from deadheat.store import home
from deadheat.workload import HELLO, load_workload

FILE = click.Path(path_type=Path, dir_okay=False)
MARGIN = (
    "Difference that does not matter: servers within it are equivalent.  [default: 3% in settle]"
)


def language_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--language",
        "languages",
        multiple=True,
        metavar="NAME",
        help="Only servers in this language; repeat it for several.",
    )(command)


def setting_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--setting",
        default="default",
        metavar="NAME",
        help="Setting in which servers start, e.g. multicore.",
    )(command)


def catalog_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--catalog",
        metavar="DIR",
        help="Folder with servers/, recipes/ and protocols/.  [default: DEADHEAT_CATALOG, this "
        "folder or a parent, or the one that comes with deadheat]",
    )(command)


def store_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--store",
        "store_path",
        type=FILE,
        help="File with the stored runs.  [default: runs.sqlite in DEADHEAT_HOME, or in "
        "~/.local/share/deadheat]",
        default=lambda: home() / "runs.sqlite",
    )(command)


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def verbose_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "-v", "--verbose", is_flag=True, help="Show all tables, the limits and the method."
    )(command)


def install_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--install",
        is_flag=True,
        help="First install the tools that `deadheat list` reports as missing; needs root.",
    )(command)


def seed_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--seed",
        type=Number(0, 2**63 - 1),
        default=lambda: random.randrange(2**31),
        help="Seed of the random order; stored with the run.  [default: random]",
    )(command)


def one_workload_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--workload",
        metavar="NAME|FILE",
        help="Requests to send; `deadheat workloads` lists the names.  [default: hello]",
    )(command)


def workload_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--workload",
        metavar="NAME|FILE",
        help="Requests to send, or several as hello,route; `deadheat workloads` lists the "
        "names.  [default: hello]",
    )(command)


def workload_values(root: Path, names: str | None) -> tuple[dict[str, Any], ...] | None:
    """Workloads as a value of a protocol; None if none is named. Raises `DeadheatError`."""
    if names is None:
        return None
    chosen = list(dict.fromkeys(name.strip() for name in names.split(",")))
    if not all(chosen):
        raise DeadheatError(
            f"--workload {names!r}: expected names or files", "for example --workload hello,route"
        )
    if chosen == [HELLO]:
        return ()
    workloads = [load_workload(root, name) for name in chosen]
    for name, workload in zip(chosen, workloads, strict=True):
        if workload.name == HELLO and name != HELLO:
            raise DeadheatError(
                f"--workload {name}: its name is that of the default workload",
                "rename the file and its `name`",
            )
    return tuple(workload.model_dump() for workload in workloads)


def protocol_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--protocol and the flags that change it; the command gets the result as `protocol`.

    It gets None with --resume and --more, because the protocol of that run is stored.
    """

    @functools.wraps(command)
    def with_protocol(*args: Any, protocol: str, **options: Any) -> Any:
        changes = {name: options.pop(name) for name in ("connections", "generator", "duration_s")}
        changes["threads"] = options.pop("load_threads")
        changes["keep_alive"] = False if options.pop("close") else None
        changes["awake"] = False if options.pop("asleep") else None
        stopping = {n: options.pop(n) for n in ("repetitions", "invocations", "margin", "budget_s")}
        if stopping["repetitions"] is not None:
            stopping["kind"] = "fixed"
        workload = options.pop("workload")
        scale, lift_cap = options.pop("duration_scale"), options.pop("no_request_cap")
        if options.get("resume") is not None or options.get("more_s") is not None:
            return command(*args, protocol=None, **options)
        from deadheat.protocol import amend, load_protocol

        root = find_root(options.get("catalog"))
        changes["workloads"] = workload_values(root, workload)
        amended = amend(load_protocol(root, protocol), changes, stopping, scale, lift_cap)
        return command(*args, protocol=amended, **options)

    flags = (
        click.option(
            "--protocol",
            default="settle",
            show_default=True,
            metavar="NAME|FILE",
            help="What to measure and how; `deadheat protocols` lists the names.",
        ),
        click.option(
            "-c",
            "--connections",
            type=Levels(),
            help="Numbers of connections to measure at, e.g. 10,100.  [default: 100 in settle]",
        ),
        click.option(
            "-d",
            "--duration",
            "duration_s",
            type=Duration(),
            help="Duration of one slice, or of one trial in a protocol without slices.",
        ),
        click.option(
            "--repetitions",
            type=Number(),
            help="Stop after this many repetitions instead of when the order is settled.",
        ),
        click.option("--invocations", type=Number(), help="Number of fresh starts of each server."),
        click.option("--margin", type=Share(), help=MARGIN),
        click.option(
            "--budget",
            "budget_s",
            type=Duration(),
            help="Stop after this long, even if undecided.  [default: 5m in settle]",
        ),
        click.option(
            "--generator",
            type=click.Choice(["engine", "wrk", "ab"]),
            metavar="NAME",
            help="Program that sends the load of a replay: engine, wrk or ab. A race needs engine.",
        ),
        click.option(
            "--duration-scale",
            type=float,
            default=1.0,
            metavar="FACTOR",
            help="Multiply every duration by this; the report says so.",
        ),
        click.option(
            "--no-request-cap",
            is_flag=True,
            help="In a replay with ab, remove the limit on requests that `ab -t` sets.",
        ),
        click.option(
            "--load-threads",
            type=Number(),
            help="Number of CPUs for the load generator.  [default: 1 in settle]",
        ),
        click.option("--close", is_flag=True, help="Open a new connection for each request."),
        click.option(
            "--asleep",
            is_flag=True,
            help="Let idle CPUs sleep, as they do outside a run.  [default: awake in settle]",
        ),
        workload_option,
    )
    for flag in reversed(flags):
        with_protocol = flag(with_protocol)
    return with_protocol
