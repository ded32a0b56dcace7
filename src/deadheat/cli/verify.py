"""`deadheat verify`: checks servers and describes how they behave, one per line."""

import itertools
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from deadheat.build.leftovers import make_room
from deadheat.build.prepare import prepare
from deadheat.build.runtime import ServerRuntime, builder_of, builder_on, host_for_builds
from deadheat.catalog import Catalog, Selection, Server, selection
from deadheat.catalog.manifest import HTTP, Transport
from deadheat.cli.choice import (
    OWN_ALONE,
    at_settings,
    open_catalog,
    refuse_setting,
    refuse_start,
    selections_of,
)
from deadheat.cli.endings import ExitCode
from deadheat.cli.help import Topic, WithCommand, flag, listed
from deadheat.cli.options import (
    FILE,
    LEVELS,
    catalog_option,
    json_option,
    language_option,
    servers_argument,
    setting_option,
)
from deadheat.cli.own_options import own_servers_options
from deadheat.cli.progress_view import progress_view
from deadheat.cli.race_options import (
    host_options,
    isolate_option,
    limit_options,
    runtime_options,
    transport_option,
    workload_option,
    workload_values,
)
from deadheat.errors import DeadheatError, UsageFault
from deadheat.host import Limits
from deadheat.measure.contender import Contender
from deadheat.measure.hosts import Hosts, host_of, one_host, world_on
from deadheat.measure.inspection import Inspection, inspect_own
from deadheat.measure.inspections import KeptInspections, inspect_all
from deadheat.measure.own_servers import OwnServers
from deadheat.measure.review import Check, review
from deadheat.output import echo, echo_json
from deadheat.protocol import SliceProtocol, amend, load_as
from deadheat.report.formats.inspections import line, review_markdown, server_pages, summary
from deadheat.workload import HELLO, Workload, load_workload

ALL_LEVELS = (10, 100, 1000)


@listed("verify", WithCommand)
@servers_argument
@language_option
@setting_option
@own_servers_options
@workload_option
@transport_option
@flag(
    "--all",
    "every_setting",
    section=Topic.SERVERS,
    is_flag=True,
    help="Verify every setting, each under load; without SERVERS, every server.",
)
@flag(
    "--load",
    "levels",
    section=Topic.MEASUREMENT,
    type=LEVELS,
    help="Open this many connections and count those that are served, e.g. 10,100,1000.",
)
@flag(
    "--freeze",
    section=Topic.MEASUREMENT,
    is_flag=True,
    help="Freeze each server for 90 s, as a race does; it must answer as before. Finds watchdogs.",
)
@flag(
    "--strict",
    section=Topic.MEASUREMENT,
    is_flag=True,
    help="Check all rules for a pull request, without a network, and print Markdown.",
)
@flag(
    "-o",
    "--output",
    section=Topic.OUTPUT,
    type=FILE,
    help="File for the results as JSON, written after each server. A later call continues it.",
)
@flag(
    "--page",
    section=Topic.OUTPUT,
    type=FILE,
    help="File for the results as Markdown; details go to the folder of the same name.",
)
@limit_options
@isolate_option
@runtime_options
@host_options
@catalog_option
@json_option
def command(
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    setting: str,
    own: OwnServers,
    workload: str | None,
    transports: tuple[Transport, ...] | None,
    every_setting: bool,
    levels: tuple[int, ...] | None,
    freeze: bool,
    strict: bool,
    output: Path | None,
    page: Path | None,
    limits: Limits,
    isolate: bool,
    runtime: ServerRuntime,
    hosts: Hosts,
    catalog: str | None,
    as_json: bool,
) -> None:
    """A server that is not built is built first. A server works if status, media type and body are
    right, for GET / and for each workload that its manifest names. The rest of its line describes
    how it behaves; docs/add-a-server.md explains each word. A server of your own works if it gives
    the same answer twice, or the right one of --workload.

    A failure does not stop the command. The exit code is 1 if a server failed; a tool or registry
    that is missing here does not count as a failure.

    \b
    Examples:
      deadheat verify go-gin
      deadheat verify --all -o verified.json         every server and setting
      deadheat verify --all --transport https,h2     every server over these, under load
      deadheat verify go-gin --load 10,100,1000      also under load
      deadheat verify ruby-puma --freeze             a minute and a half longer
      deadheat verify go-gin --strict                a report for a pull request
      deadheat verify go-gin --runtime podman        in a container
      deadheat verify go-gin --server-host lab@192.168.10.10
      deadheat verify -- ./my-server --port {port}
    """
    is_chosen = bool(servers or languages or every_setting)
    if not (is_chosen or own):
        raise UsageFault(
            "missing argument SERVERS: expected names, --language, --all or a server of your own",
            "deadheat verify go-gin; --all builds and starts every server in every setting",
        )
    runtime.require_sense(
        isolate=isolate, strict=strict, server_host=hosts.server, load_host=any(hosts.loads)
    )
    servers_catalog = open_catalog(catalog)
    matching = at_settings(servers_catalog, servers, languages, setting) if is_chosen else []
    settings = [setting, *(named for _, named in matching)]
    for named in settings if transports else ():
        refuse_setting(named)
    if own and not is_chosen:
        refuse_start(setting, (None,), *OWN_ALONE)
    for named in settings if every_setting else ():
        if named != "default":
            raise UsageFault(
                f"--all and the setting {named} exclude each other",
                f"deadheat verify '*' --setting {named} --load 10,100,1000",
            )
    if page is not None and page.suffix != ".md":
        raise UsageFault(
            f"--page {page}: expected a name that ends in .md",
            "such as servers.md: the details go to the folder servers",
        )
    starts = [] if strict else matching
    chosen = list(_selections(starts, transports, every_setting))
    if transports and matching and not (chosen or strict):
        raise DeadheatError(
            f"--transport {','.join(transports)}: none of the chosen servers speaks it",
            "`deadheat list --json` shows the transports of each server",
        )
    taken = {each.name for each in chosen}
    extra, own_workloads = _own(own, workload, transports, servers_catalog.root, taken)
    limited = {"--strict": strict, "--freeze": freeze, "--page": page}
    for option in (name for name, given in limited.items() if given):
        if extra:
            raise DeadheatError(
                f"{option}: it is about servers of the catalog, not about your own",
                "docs/add-a-server.md says how your server becomes one of the catalog",
            )
    if strict:
        if every_setting or levels or output or page:
            raise DeadheatError(
                "--strict has a load and a report already: omit --all, --load, -o and --page",
                "deadheat verify go-gin --strict > comment.md",
            )
        if transports:
            raise DeadheatError(
                f"--strict reviews plain HTTP: omit --transport {','.join(transports)}",
                "without --strict, deadheat verify tries other transports",
            )
        require_server_host_only(hosts)
        sys.exit(verify_strictly(selections_of(matching), limits, hosts, as_json))
    kept = KeptInspections.read(output)
    load_levels = levels or (ALL_LEVELS if every_setting else ())
    make_room(*(path.absolute().parent for path in (output, page) if path))
    inspections: list[Inspection] = []
    with (
        world_on(
            hosts, "engine", 1, limits=limits, isolate=isolate, containers=bool(runtime)
        ) as world,
        host_for_builds(world.server_host, limits, isolate) as host,
        builder_of(runtime, host, world.server_cpus, limits) as builder,
        progress_view() as listen,
    ):
        all_workloads = _workloads(servers_catalog.root, chosen)
        of_catalog = inspect_all(
            world, builder, chosen, kept, load_levels, freeze, all_workloads, listen
        )
        of_own = (inspect_own(world, each, load_levels, own_workloads) for each in extra)
        for inspection in itertools.chain(of_catalog, of_own):
            inspections.append(inspection)
            kept.add(inspection)
            if not as_json:
                echo(line(inspection))
    if page is not None:
        _write_pages(page, server_pages(kept.all, servers_catalog, page.stem))
    if as_json:
        echo_json([inspection.to_json() for inspection in inspections])
    else:
        echo(summary(inspections) + _recipes(inspections, servers_catalog))
    failed = any(row.fault and not row.lacks for row in inspections)
    sys.exit(ExitCode.FAILED if failed else ExitCode.OK)


def _own(
    own: OwnServers,
    workload: str | None,
    transports: Sequence[Transport] | None,
    root: Path,
    taken: Collection[str],
) -> tuple[list[Contender], list[Workload]]:
    """The user's own servers, and the workloads that they have to answer."""
    if workload is not None and not own:
        raise DeadheatError(
            f"--workload {workload}: expected a server of your own",
            "omit it: a server of the catalog is tried with each workload of its manifest",
        )
    if not own:
        own.require_sense()
        return [], []
    changes = {"workloads": workload_values(root, workload), "transports": transports}
    own, protocol = own.with_workload(amend(load_as(root, "settle", SliceProtocol), changes, {}))
    return own.contenders(taken, protocol), list(protocol.workloads)


def _write_pages(page: Path, texts: Mapping[str, str]) -> None:
    """Write `page` and those in the folder beside it, and create that folder."""
    page.with_suffix("").mkdir(exist_ok=True)
    for name, text in texts.items():
        path = page if "/" not in name else page.parent / name
        path.write_text(text, encoding="utf-8")


def _selections(
    servers: Iterable[tuple[Server, str]],
    transports: Sequence[Transport] | None,
    every: bool,
) -> Iterator[Selection]:
    """With `every`, all settings and transports of a server, or of these the given transports."""
    without: defaultdict[str, list[str]] = defaultdict(list)
    for server, setting in servers:
        spoken = server.manifest.transports
        settings = ("default", *server.manifest.settings) if every else (setting,)
        for transport in transports or (HTTP, *(spoken if every else ())):
            if transport == HTTP:
                yield from selections_of((server, name) for name in settings)
            elif transport in spoken:
                yield selection(server, transport)
            else:
                without[transport].append(server.name)
    for name, lacking in without.items():
        echo(f"left out, without {name}: {', '.join(lacking)}", fg="yellow", err=True)


def _workloads(root: Path, selections: Iterable[Selection]) -> dict[str, Workload]:
    """Every workload that a manifest names. Raises `DeadheatError` for an unknown one."""
    names = {name for chosen in selections for name in chosen.server.manifest.workloads}
    return {name: load_workload(root, name) for name in names if name != HELLO}


def _recipes(inspections: Iterable[Inspection], catalog: Catalog) -> str:
    """How many of those missing here have a recipe that was tried by hand on upstream sources."""
    verified = sum(
        catalog.all_servers[row.server].manifest.verified is not None
        for row in inspections
        if row.lacks
    )
    has = "has" if verified == 1 else "have"
    return f"; {verified} of these {has} a recipe that was tried by hand" if verified else ""


def verify_strictly(
    selections: Sequence[Selection], limits: Limits, hosts: Hosts, as_json: bool
) -> ExitCode:
    """Review each server without a network, print a report, and say whether a check failed.

    On the server host, which also loads it: without a network, no other machine can.
    """
    failed = False
    reports = []
    with (
        host_of(hosts.server, limits, isolate=True) as isolated,
        one_host(isolated, "engine", 1) as world,
        host_of(hosts.server, limits) as host,  # builds download packages
        progress_view() as listen,
    ):
        here = isolated.fingerprint()
        machine = f"{here.os or 'Linux'}, kernel {here.kernel}"
        builder = builder_on(host, limits)
        for chosen in selections:
            (candidate,) = prepare([chosen], isolated, builder, listen)
            log = ""
            if candidate.built is None:
                fault, *lines = (candidate.fault or "it did not build").splitlines()
                checks = [Check("build", False, fault)]
                log = "\n".join(line.removeprefix("  | ") for line in lines)
            else:
                checks = [Check("build", True, f"key {candidate.built.key}")]
                checks += review(world, candidate, isolated=True)
            failed |= any(check.passed is False for check in checks)
            row = {"name": chosen.name, "version": candidate.version}
            reports.append({**row, "checks": [asdict(check) for check in checks]})
            if not as_json:
                echo(review_markdown(chosen.name, candidate.version, machine, checks, log))
    if as_json:
        echo_json(reports)
    return ExitCode.FAILED if failed else ExitCode.OK


def require_server_host_only(hosts: Hosts) -> None:
    """Raises `DeadheatError` for a machine that would load over a network."""
    if any(hosts.loads) or hosts.address is not None:
        raise DeadheatError(
            "--strict reviews a server without a network: expected no --load-host and no "
            "--server-address",
            "omit them; --server-host names the machine that builds, starts and loads it",
        )
