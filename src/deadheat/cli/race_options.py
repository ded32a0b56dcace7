"""Flags of the commands that measure. A group of them becomes one value of the command."""

import functools
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from deadheat import numbers
from deadheat.build.runtime import NATIVE, ServerRuntime
from deadheat.catalog import find_root
from deadheat.cli.help import Decorator, Topic, flag
from deadheat.cli.options import FILE, base_image_option
from deadheat.cli.values import Duration, Levels, Number, Percentage, Size
from deadheat.errors import DeadheatError
from deadheat.foreign_file import read_bytes
from deadheat.foreign_text import without_secrets
from deadheat.host import Limits
from deadheat.host.agent.program import LOG_BYTES_MAX, MEMORY_SHARE_MAX, PROCESSES_MAX
from deadheat.measure.hosts import HERE, Hosts
from deadheat.measure.own_servers import OwnRequest, OwnServers
from deadheat.protocol import Protocol, amend, load_protocol
from deadheat.workload import HELLO, load_workload

BODY_BYTES_MAX = 16 << 20

Options = dict[str, Any]  # what click passes to a command


def grouped(name: str, value: Callable[[Options], Any], *flags: Decorator) -> Decorator:
    """Add `flags`; the command gets `value` of them as `name`, which takes them out of the options.

    The flags of a group that is declared before this one are still among the options.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_value(*args: Any, **options: Any) -> Any:
            options[name] = value(options)
            return command(*args, **options)

        flagged: Callable[..., Any] = with_value
        for each in reversed(flags):
            flagged = each(flagged)
        return flagged

    return decorate


workload_option = flag(
    "--workload",
    section=Topic.LOAD,
    metavar="NAME|FILE",
    help="Requests to send, or several as hello,route; `deadheat workloads` lists the "
    "names.  [default: hello]",
)
one_workload_option = flag(
    "--workload",
    section=Topic.LOAD,
    metavar="NAME|FILE",
    help="Requests to send; `deadheat workloads` lists the names.  [default: hello]",
)
connections_option = flag(
    "-c",
    "--connections",
    section=Topic.LOAD,
    type=Levels(),
    help="Numbers of connections to measure at, e.g. 10,100.  [default: 100 in settle]",
)
margin_option = flag(
    "--margin",
    section=Topic.MEASUREMENT,
    type=Percentage(),
    help="Difference that does not matter: servers within it are equivalent.  "
    "[default: 3% in settle]",
)
isolate_option = flag(
    "--isolate",
    section=Topic.LIMITS,
    is_flag=True,
    help="Run servers and load in a network namespace with loopback only.",
)


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


def _protocol(options: Options) -> Protocol:
    """The protocol that --protocol names, with the values of the flags that change it."""
    changes = {name: options.pop(name) for name in ("connections", "generator", "duration_s")}
    changes["threads"] = options.pop("load_threads")
    changes["keep_alive"] = False if options.pop("close") else None
    changes["awake"] = False if options.pop("asleep") else None
    stopping = {n: options.pop(n) for n in ("repetitions", "invocations", "margin", "budget_s")}
    if stopping["repetitions"] is not None:
        stopping["kind"] = "fixed"
    root = find_root(options.get("catalog"))
    changes["workloads"] = workload_values(root, options.pop("workload"))
    scale, lift_cap = options.pop("duration_scale"), options.pop("no_request_cap")
    return amend(load_protocol(root, options["protocol"]), changes, stopping, scale, lift_cap)


protocol_options = grouped(
    "protocol",
    _protocol,
    workload_option,
    connections_option,
    flag(
        "--close",
        section=Topic.LOAD,
        is_flag=True,
        help="Open a new connection for each request.",
    ),
    flag(
        "--generator",
        section=Topic.LOAD,
        type=click.Choice(["engine", "wrk", "ab"]),
        metavar="NAME",
        help="Program that sends the load of a replay: engine, wrk or ab. A race needs engine.",
    ),
    flag(
        "--load-threads",
        section=Topic.LOAD,
        type=Number(),
        help="Number of CPUs for the load generator.  [default: 1 in settle]",
    ),
    flag(
        "--protocol",
        section=Topic.MEASUREMENT,
        default="settle",
        show_default=True,
        metavar="NAME|FILE",
        help="What to measure and how; `deadheat protocols` lists the names.",
    ),
    flag(
        "--budget",
        "budget_s",
        section=Topic.MEASUREMENT,
        type=Duration(),
        help="Stop after this long, even if undecided.  [default: 5m in settle]",
    ),
    margin_option,
    flag(
        "-d",
        "--duration",
        "duration_s",
        section=Topic.MEASUREMENT,
        type=Duration(),
        help="Duration of one slice, or of one trial in a protocol without slices.",
    ),
    flag(
        "--repetitions",
        section=Topic.MEASUREMENT,
        type=Number(),
        help="Measure each server this many times in all, however long it takes, instead of "
        "until the order is settled.",
    ),
    flag(
        "--invocations",
        section=Topic.MEASUREMENT,
        type=Number(),
        help="Number of fresh starts of each server, over which its measurements are spread.  "
        "[default: 4 in settle]",
    ),
    flag(
        "--duration-scale",
        section=Topic.MEASUREMENT,
        type=float,
        default=1.0,
        metavar="FACTOR",
        help="Multiply every duration by this; the report says so.",
    ),
    flag(
        "--no-request-cap",
        section=Topic.MEASUREMENT,
        is_flag=True,
        help="In a replay with ab, remove the limit on requests that `ab -t` sets.",
    ),
    flag(
        "--asleep",
        section=Topic.MEASUREMENT,
        is_flag=True,
        help="Let idle CPUs sleep, as in daily use; rates then vary more.  "
        "[default: kept awake in settle]",
    ),
)


def _own(options: Options) -> OwnServers:
    behind = click.get_current_context().meta["own"]
    commands = [*map(_words_of, options.pop("commands", ())), *([behind] if behind else [])]
    body: Path | None = options.pop("body")
    request = OwnRequest(
        headers=options.pop("headers"),
        method=options.pop("method"),
        body=None if body is None else _text_of(body),
        status=options.pop("expect_status"),
    )
    return OwnServers(
        commands=commands,
        urls=options.pop("urls", ()),
        names=options.pop("names", ()),
        path=options.pop("path"),
        any_body=options.pop("any_body"),
        request=request,
        elsewhere=options.get("server_host") is not None,
        cacert=options.pop("cacert", None),
        insecure=options.pop("insecure", False),
    )


def _words_of(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        shown = without_secrets([command])[0][0]
        raise DeadheatError(f"--command {shown!r}: {error}", "quote it as in a shell") from error
    if not words:
        raise DeadheatError("--command: it is empty", "expected one such as './server {port}'")
    return words


def _text_of(path: Path) -> str:
    try:
        return read_bytes(path, BODY_BYTES_MAX).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "expected UTF-8"
        raise DeadheatError(f"--body {path}: {reason}", "check the path") from error


_REQUEST_FLAGS = (
    flag(
        "--path",
        section=Topic.SERVERS,
        metavar="PATH",
        help="Path to request from the command behind `--`.  [default: /]",
    ),
    flag(
        "--any-body",
        section=Topic.SERVERS,
        is_flag=True,
        help="Accept any body from your own server; check only the status.",
    ),
    flag(
        "-H",
        "--header",
        "headers",
        section=Topic.LOAD,
        multiple=True,
        metavar="'NAME: VALUE'",
        help="Header of each request to your own servers; repeat it for several.",
    ),
    flag(
        "--method",
        section=Topic.LOAD,
        metavar="NAME",
        help="Method of each request to your own servers.  [default: GET, or POST with --body]",
    ),
    flag(
        "--body",
        section=Topic.LOAD,
        type=FILE,
        help="File with the body of each request to your own servers.",
    ),
    flag(
        "--expect-status",
        section=Topic.LOAD,
        type=click.IntRange(200, 599),
        metavar="STATUS",
        help="Status of the right answer of your own servers.  [default: 200]",
    ),
)
# Both are of a `WithCommand`. The first is for one start command, behind `--`.
own_options = grouped("own", _own, *_REQUEST_FLAGS)
own_servers_options = grouped(
    "own",
    _own,
    flag(
        "--url",
        "urls",
        section=Topic.SERVERS,
        multiple=True,
        metavar="URL",
        help="URL of a server that runs already, to race it too; repeat it for several.",
    ),
    flag(
        "--command",
        "commands",
        section=Topic.SERVERS,
        multiple=True,
        metavar="TEXT",
        help="Command that starts a server of your own, quoted as one word; repeat it for several.",
    ),
    flag(
        "--name",
        "names",
        section=Topic.SERVERS,
        multiple=True,
        metavar="NAME",
        help="Name of a server of your own: a name each, in their order, those of URLs last.",
    ),
    flag(
        "--cacert",
        section=Topic.SERVERS,
        type=FILE,
        help="File with the CA of --url https://...  [default: those of the system]",
    ),
    flag(
        "--insecure",
        section=Topic.SERVERS,
        is_flag=True,
        help="Trust any certificate of --url https://...",
    ),
    *_REQUEST_FLAGS,
)


def _limit_options(limited: str, build_timeout: str | None = None) -> Decorator:
    """The flags that limit every process tree; the command gets them as `limits`.

    `build_timeout` is the default of a build step as text; None for a command without builds.
    """

    def limits(options: Options) -> Limits:
        return Limits(
            memory_bytes=options.pop("memory_limit"),
            processes=options.pop("process_limit"),
            log_bytes=options.pop("log_limit"),
            build_step_s=options.pop("build_timeout", None),
        )

    flags = [
        flag(
            "--memory-limit",
            section=Topic.LIMITS,
            type=Size(),
            help=f"Memory for {limited}; one that uses more is ended.  "
            f"[default: {numbers.percent(MEMORY_SHARE_MAX, 0)} of the machine's]",
        ),
        flag(
            "--process-limit",
            section=Topic.LIMITS,
            type=Number(),
            help=f"Number of processes for {limited}.  [default: {PROCESSES_MAX}]",
        ),
        flag(
            "--log-limit",
            section=Topic.LIMITS,
            type=Size(),
            help="Size of each log; the middle of a longer one is dropped.  "
            f"[default: {LOG_BYTES_MAX >> 20}M]",
        ),
    ]
    if build_timeout is not None:
        flags.append(
            flag(
                "--build-timeout",
                section=Topic.BUILDS,
                type=Duration(),
                help=f"Time limit of each build step.  [default: {build_timeout}]",
            )
        )
    return grouped("limits", limits, *flags)


limit_options = _limit_options("each server and build", "as the manifest says")
revision_limit_options = _limit_options("each server and build", "1h")  # they have no manifest
server_limit_options = _limit_options("each server")


runtime_options = grouped(
    "runtime",
    lambda options: ServerRuntime(options.pop("runtime"), options.pop("base_image")),
    flag(
        "--runtime",
        section=Topic.BUILDS,
        type=click.Choice([NATIVE, "podman", "docker"]),
        default=NATIVE,
        show_default=True,
        metavar="NAME",
        help="Run the catalog's servers as native processes, or in containers of podman or docker.",
    ),
    base_image_option,
)


def native_only(cause: str, hint: str) -> Decorator:
    """Hidden `--runtime` and `--base-image`, which a command that cannot use them refuses."""

    def refuse(_: click.Context, option: click.Parameter, value: str | None) -> None:
        if value not in (None, NATIVE):
            raise DeadheatError(f"{option.opts[0]} {value}: {cause}", hint)

    def with_refusal(command: Callable[..., Any]) -> Callable[..., Any]:
        for name in ("--base-image", "--runtime"):
            hidden = click.option(name, hidden=True, expose_value=False, callback=refuse)
            command = hidden(command)
        return command

    return with_refusal


def _hosts(options: Options) -> Hosts:
    server, address = (options.pop(name, None) for name in ("server_host", "server_address"))
    named = options.pop("load_host", None) or (HERE,)
    load, *more = (None if name == HERE else name for name in named)
    hosts = Hosts(server, load, address, tuple(more))
    hosts.require_sense(isolate=options.get("isolate", False))
    return hosts


_MACHINES = (
    flag(
        "--server-host",
        section=Topic.MACHINES,
        metavar="[USER@]HOST",
        help="Machine that builds and starts servers, over ssh.",
    ),
    flag(
        "--load-host",
        section=Topic.MACHINES,
        metavar="[USER@]HOST",
        multiple=True,
        help="Machine that sends the load, over ssh; . is this one. Repeat it to send load "
        "from several.",
    ),
)
machine_options = grouped("hosts", _hosts, *_MACHINES)  # of a command that sends no load
host_options = grouped(
    "hosts",
    _hosts,
    *_MACHINES,
    flag(
        "--server-address",
        section=Topic.MACHINES,
        metavar="ADDRESS",
        help="Address of the server host as the load host sees it.  "
        "[default: the host that ssh connects to]",
    ),
)
