"""`deadheat verify`: checks servers and describes how they behave, one per line."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import click

from deadheat.catalog import Catalog, Selection, Server, selection
from deadheat.cli.containers import Runtime, builder_of, runtime_options
from deadheat.cli.exit_codes import ExitCode
from deadheat.cli.help import Command
from deadheat.cli.hosts import Hosts, host_options
from deadheat.cli.inspecting import inspect_all
from deadheat.cli.kept_inspections import KeptInspections
from deadheat.cli.limits import isolate_option, limit_options
from deadheat.cli.options import (
    FILE,
    catalog_option,
    json_option,
    language_option,
    setting_option,
)
from deadheat.cli.progress_view import progress_view
from deadheat.cli.server_names import complete_servers
from deadheat.cli.two_hosts import world_on
from deadheat.cli.values import Levels
from deadheat.cli.verify_strict import require_server_host_only, verify_strictly
from deadheat.cli.workbench import (
    chosen_servers,
    host_for_builds,
    make_room,
    open_catalog,
)
from deadheat.errors import DeadheatError
from deadheat.host import Limits
from deadheat.measure.inspection import Inspection
from deadheat.output import echo, echo_json
from deadheat.report.formats.inspections import line, server_pages, summary
from deadheat.workload import HELLO, Workload, load_workload

ALL_LEVELS = (10, 100, 1000)


@click.command("verify", cls=Command)
@click.argument("servers", nargs=-1, shell_complete=complete_servers)
@language_option
@setting_option
@click.option(
    "--all",
    "every_setting",
    is_flag=True,
    help="Verify every setting, each under load; without SERVERS, every server.",
)
@click.option(
    "--load",
    "levels",
    type=Levels(),
    help="Open this many connections and count those that are served, e.g. 10,100,1000.",
)
@click.option(
    "--freeze",
    is_flag=True,
    help="Freeze each server for 90 s, as a race does; it must answer as before. Finds watchdogs.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Check all rules for a pull request, without a network, and print Markdown.",
)
@click.option(
    "-o",
    "--output",
    type=FILE,
    help="File for the results as JSON, written after each server. A later call continues it.",
)
@click.option(
    "--page",
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
    every_setting: bool,
    levels: tuple[int, ...] | None,
    freeze: bool,
    strict: bool,
    output: Path | None,
    page: Path | None,
    limits: Limits,
    isolate: bool,
    runtime: Runtime,
    hosts: Hosts,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Start servers, check their responses, and stop them.

    A server that is not built is built first. A server works if status, media type and body are
    right, for GET / and for each workload that its manifest names. The rest of its line describes
    how it behaves; docs/add-a-server.md explains each word.

    A failure does not stop the command. The exit code is 1 if a server failed; a tool or registry
    that is missing here does not count as a failure.

    \b
    Examples:
      deadheat verify go-gin
      deadheat verify --all -o verified.json         every server and setting
      deadheat verify go-gin --load 10,100,1000      also under load
      deadheat verify ruby-puma --freeze             a minute and a half longer
      deadheat verify go-gin --strict                a report for a pull request
      deadheat verify go-gin --runtime podman        in a container
      deadheat verify go-gin --server-host lab@192.168.10.10
    """
    if not (servers or languages or every_setting):
        raise DeadheatError(
            "missing argument SERVERS: expected names, --language or --all",
            "deadheat verify go-gin; --all builds and starts every server in every setting",
        )
    runtime.require_sense(
        isolate=isolate, strict=strict, server_host=hosts.server, load_host=any(hosts.loads)
    )
    servers_catalog = open_catalog(catalog)
    if strict:
        if every_setting or levels or output or page:
            raise DeadheatError(
                "--strict has a load and a report already: omit --all, --load, -o and --page",
                "deadheat verify go-gin --strict > comment.md",
            )
        require_server_host_only(hosts)
        reviewed = chosen_servers(servers_catalog, servers, languages)
        sys.exit(verify_strictly(reviewed, setting, limits, hosts, as_json))
    chosen = list(
        _selections(chosen_servers(servers_catalog, servers, languages), setting, every_setting)
    )
    kept = KeptInspections.read(output)
    load_levels = levels or (ALL_LEVELS if every_setting else ())
    make_room(*(path.absolute().parent for path in (output, page) if path))
    inspections: list[Inspection] = []
    with (
        world_on(
            hosts, "engine", 1, limits=limits, isolate=isolate, containers=bool(runtime)
        ) as world,
        host_for_builds(world, limits, isolate) as host,
        builder_of(runtime, host, world, limits) as builder,
        progress_view() as listen,
    ):
        all_workloads = _workloads(servers_catalog.root, chosen)
        for inspection in inspect_all(
            world, builder, chosen, kept, load_levels, freeze, all_workloads, listen
        ):
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


def _write_pages(page: Path, texts: Mapping[str, str]) -> None:
    """Write `page` and those in the folder beside it, and create that folder."""
    page.with_suffix("").mkdir(exist_ok=True)
    for name, text in texts.items():
        path = page if "/" not in name else page.parent / name
        path.write_text(text, encoding="utf-8")


def _selections(servers: Iterable[Server], setting: str, every: bool) -> Iterator[Selection]:
    for server in servers:
        for name in ("default", *server.manifest.settings) if every else (setting,):
            yield selection(server, name)


def _workloads(root: Path, selections: Iterable[Selection]) -> dict[str, Workload]:
    """Every workload that a manifest names. Raises `DeadheatError` for an unknown one."""
    names = {name for chosen in selections for name in chosen.server.manifest.workloads}
    return {name: load_workload(root, name) for name in names if name != HELLO}


def _recipes(inspections: Iterable[Inspection], catalog: Catalog) -> str:
    """How many of those missing here have a recipe that was verified against upstream sources."""
    verified = sum(
        catalog.servers[row.server].manifest.verified is not None
        for row in inspections
        if row.lacks
    )
    has = "has" if verified == 1 else "have"
    return f"; {verified} of these {has} a recipe verified upstream" if verified else ""
