"""Flags of the commands that measure. A group of them becomes one value of the command."""

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from deadheat import numbers
from deadheat.build.runtime import NATIVE, ServerRuntime
from deadheat.catalog import find_root
from deadheat.catalog.manifest import TRANSPORTS
from deadheat.cli.help import Decorator, Topic, faults_in, flag, require_no_faults
from deadheat.cli.options import (
    DURATION,
    LEVELS,
    PERCENTAGE,
    SIZE,
    TRANSPORT_LIST,
    Parsed,
    base_image_option,
    integer,
)
from deadheat.errors import DeadheatError, joined
from deadheat.host import Limits
from deadheat.host.agent.program import LOG_BYTES_MAX, MEMORY_SHARE_MAX, PROCESSES_MAX
from deadheat.measure.hosts import HERE, Hosts
from deadheat.protocol import Protocol, RateProtocol, amend, load_protocol
from deadheat.protocol.model import SHARE_TEXT
from deadheat.strict import JsonObject
from deadheat.workload import HELLO, load_workload

Options = dict[str, Any]  # what click passes to a command


def grouped(name: str, value: Callable[[Options], Any], *flags: Decorator) -> Decorator:
    """Add `flags`; the command gets `value` of them as `name`, which takes them out of the options.

    The flags of a group that is declared before this one are still among the options. The command
    is called if no group has a fault.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_value(*args: Any, **options: Any) -> Any:
            context = click.get_current_context()
            try:
                options[name] = value(options)
            except DeadheatError as error:  # a later group may have a fault, too
                faults_in(context).append(error)
                options[name] = None
            if not getattr(command, "takes_groups", False):
                require_no_faults(context)
            return command(*args, **options)

        flagged: Callable[..., Any] = with_value
        flagged.__dict__["takes_groups"] = True
        for each in reversed(flags):
            flagged = each(flagged)
        return flagged

    return decorate


def _rates(text: str) -> tuple[float | str, ...]:
    rates: list[float | str] = []
    for part in (part.strip() for part in text.split(",")):
        if re.fullmatch(SHARE_TEXT, part):
            rates.append(part)
        elif re.fullmatch(r"\d{1,9}(\.\d{1,6})?", part) and float(part) > 0:
            rates.append(float(part))
        else:
            expected = "requests/s or shares below 100%, such as 1000,10000 or 10%"
            raise ValueError(f"{part!r}: expected {expected}")
    return tuple(dict.fromkeys(rates))


# 1000,10000 -> (1000.0, 10000.0); `10%` stays: it is a share of a rate to be measured
RATES = Parsed("rates", _rates)
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
transport_option = flag(
    "--transport",
    "transports",
    section=Topic.LOAD,
    type=TRANSPORT_LIST,
    help="How to reach the servers: http, https, h2 or h2c, or several as http,https,h2.  "
    "[default: http]",
)
one_transport_option = flag(
    "--transport",
    section=Topic.LOAD,
    type=click.Choice(TRANSPORTS),
    metavar="NAME",
    help="How to reach the servers: http, https, h2 or h2c.  [default: http]",
)
streams_option = flag(
    "--streams",
    section=Topic.LOAD,
    type=integer(),
    help="Number of concurrent requests on each HTTP/2 connection.  [default: 1]",
)
tls_key_option = flag(
    "--tls-key",
    section=Topic.LOAD,
    type=click.Choice(["ecdsa", "rsa"]),
    metavar="NAME",
    help="Kind of the certificates for servers with TLS: ecdsa (P-256) or rsa (2048 bits).  "
    "[default: ecdsa]",
)
connections_option = flag(
    "-c",
    "--connections",
    section=Topic.LOAD,
    type=LEVELS,
    help="Numbers of connections to measure at, e.g. 10,100.  [default: 100 in settle]",
)
margin_option = flag(
    "--margin",
    section=Topic.MEASUREMENT,
    type=PERCENTAGE,
    help="Difference that does not matter: servers within it are equivalent.  "
    "[default: 3% in settle]",
)
isolate_option = flag(
    "--isolate",
    section=Topic.LIMITS,
    is_flag=True,
    help="Run servers and load in a network namespace with loopback only.",
)


def workload_values(root: Path, names: str | None) -> tuple[JsonObject, ...] | None:
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
    workloads, faults = [], list[DeadheatError]()
    for name in chosen:
        try:
            workloads.append(load_workload(root, name))
        except DeadheatError as error:
            faults.append(error)
    if faults:
        raise joined(faults)
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
    changes |= {name: options.pop(name) for name in ("transports", "streams", "tls_key")}
    root = find_root(options.get("catalog"))
    try:
        changes["workloads"] = workload_values(root, options.pop("workload"))
    except DeadheatError as error:  # the name of the protocol may be wrong, too
        faults_in(click.get_current_context()).append(error)
    rates, price = options.pop("rates", None), options.pop("price", None)
    if rates is not None and options["protocol"] == "settle":
        options["protocol"] = "common-rate"
    named = load_protocol(root, options["protocol"])
    if isinstance(named, RateProtocol):
        changes |= {"rates": rates, "price_per_core_hour": price}
    elif rates is not None or price is not None:
        raise DeadheatError(
            f"--{'price' if rates is None else 'rate'}: protocol {named.name} offers no rate",
            "for a race at offered rates: deadheat run SERVERS --rate 1000",
        )
    scale, lift_cap = options.pop("duration_scale"), options.pop("no_request_cap")
    return amend(named, changes, stopping, scale, lift_cap)


_PROTOCOL = (
    workload_option,
    transport_option,
    connections_option,
    streams_option,
    tls_key_option,
    flag(
        "--close",
        section=Topic.LOAD,
        is_flag=True,
        help="Open a new connection for each request; over TLS, with a full handshake.",
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
        type=integer(),
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
        type=DURATION,
        help="Stop after this long, even if undecided.  [default: 5m in settle]",
    ),
    margin_option,
    flag(
        "-d",
        "--duration",
        "duration_s",
        section=Topic.MEASUREMENT,
        type=DURATION,
        help="Duration of one slice, or of one trial in a protocol without slices.",
    ),
    flag(
        "--repetitions",
        section=Topic.MEASUREMENT,
        type=integer(),
        help="Measure each server this many times in all, however long it takes, instead of "
        "until the order is settled.",
    ),
    flag(
        "--invocations",
        section=Topic.MEASUREMENT,
        type=integer(),
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
protocol_options = grouped("protocol", _protocol, *_PROTOCOL)
rate_protocol_options = grouped(
    "protocol",
    _protocol,
    *_PROTOCOL,
    flag(
        "--rate",
        "rates",
        section=Topic.LOAD,
        type=RATES,
        metavar="LIST",
        help="Offer each server the same requests/s, e.g. 1000,10000, or a share of the slowest "
        "server's maximum, e.g. 10%; rank by CPU time and response time.",
    ),
    flag(
        "--price",
        section=Topic.MEASUREMENT,
        type=click.FloatRange(0, min_open=True),
        metavar="AMOUNT",
        help="Price of a core for an hour, to show what a million requests cost.",
    ),
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
            type=SIZE,
            help=f"Memory for {limited}; one that uses more is ended.  "
            f"[default: {numbers.percent(MEMORY_SHARE_MAX, 0)} of the machine's]",
        ),
        flag(
            "--process-limit",
            section=Topic.LIMITS,
            type=integer(),
            help=f"Number of processes for {limited}.  [default: {PROCESSES_MAX}]",
        ),
        flag(
            "--log-limit",
            section=Topic.LIMITS,
            type=SIZE,
            help="Size of each log; the middle of a longer one is dropped.  "
            f"[default: {LOG_BYTES_MAX >> 20}M]",
        ),
    ]
    if build_timeout is not None:
        flags.append(
            flag(
                "--build-timeout",
                section=Topic.BUILDS,
                type=DURATION,
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
