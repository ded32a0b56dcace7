"""`deadheat verify`: checks servers and describes how they behave, one per line."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import click

from deadheat.build.builder import Builder
from deadheat.build.prepare import Candidate, prepare
from deadheat.catalog import Catalog, Selection, Server, selection
from deadheat.cli.containers import Runtime, builder_of, runtime_options
from deadheat.cli.exit_codes import ExitCode
from deadheat.cli.help import Command
from deadheat.cli.hosts import Hosts, host_options
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
from deadheat.events import Board, Event, Listener, Progress
from deadheat.host import Limits
from deadheat.measure.freezing import FREEZE_S, freeze_faults
from deadheat.measure.inspection import Inspection, inspect
from deadheat.measure.world import World
from deadheat.output import echo, echo_json
from deadheat.report.format import count
from deadheat.report.formats.inspections import line, summary
from deadheat.report.formats.server_pages import server_pages
from deadheat.workload import HELLO, Workload, load_workload

ALL_LEVELS = (10, 100, 1000)
FROZEN_TOGETHER = 16  # instances, which need memory at the same time
# Messages of the C library, curl, Java, Node and Erlang if a host cannot be resolved or reached.
UNREACHABLE = re.compile(
    r"Name or service not known|Temporary failure in name resolution|Could not resolve host"
    r"|Network is unreachable|No route to host|UnknownHostException|Unknown host"
    r"|ENOTFOUND|EAI_AGAIN|nxdomain"
)


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
    kept = _Kept.read(output)
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
        for inspection in _inspect_all(
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


def _inspect_all(
    world: World,
    builder: Builder,
    selections: list[Selection],
    kept: "_Kept",
    levels: tuple[int, ...],
    freeze: bool,
    workloads: Mapping[str, Workload],
    listen: Listener,
) -> Iterator[Inspection]:
    """Build and inspect in turn. A kept inspection of the same build is not repeated.

    With `freeze`, groups of servers are frozen at the same time after their inspections.
    """
    together = FROZEN_TOGETHER if freeze else 1
    for first in range(0, len(selections), together):
        to_freeze: list[tuple[Candidate, Inspection]] = []
        for position, chosen in enumerate(selections[first : first + together], first):
            numbered = _numbered(listen, position, len(selections))
            (candidate,) = prepare([chosen], world.server_host, builder, numbered)
            key = candidate.built.key if candidate.built else None
            inspection = kept.of(chosen, key, levels)
            if inspection is None:
                names = chosen.server.manifest.workloads
                own = [workloads[name] for name in names if name in workloads]
                inspected = inspect(world, candidate, levels, own)
                inspection = _excuse_registry(inspected, chosen.server)
            if freeze and inspection.fault is None and inspection.frozen_s is None:
                kept.add(inspection)  # if the command is stopped, only the freeze is repeated
                to_freeze.append((candidate, inspection))
            else:
                yield inspection
        if to_freeze:
            listen(Progress(f"{count(len(to_freeze), 'server')} frozen for {FREEZE_S:g} s"))
            faults = freeze_faults(world, [candidate for candidate, _ in to_freeze])
            for (_, inspection), fault in zip(to_freeze, faults, strict=True):
                yield replace(inspection, frozen_s=FREEZE_S, fault=fault)


def _numbered(listen: Listener, position: int, of: int) -> Listener:
    """Counts over all selections: each is prepared on its own, as one of one."""

    def listen_numbered(event: Progress | Event | Board) -> None:
        listen(replace(event, done=position, of=of) if isinstance(event, Progress) else event)

    return listen_numbered


def _excuse_registry(inspection: Inspection, server: Server) -> Inspection:
    """Count a build that could not reach its registry as missing here, not as a failed server."""
    match = UNREACHABLE.search(inspection.words)
    if inspection.build_key is not None or inspection.lacks or match is None:
        return inspection
    return replace(
        inspection,
        fault=f"{server.name} is left out: its registry cannot be reached ({match.group()})",
        words="",
        lacks=(f"deadheat build {server.name}  # with access to the registry",),
    )


def _recipes(inspections: Iterable[Inspection], catalog: Catalog) -> str:
    """How many of those missing here have a recipe that was verified against upstream sources."""
    verified = sum(
        catalog.servers[row.server].manifest.verified is not None
        for row in inspections
        if row.lacks
    )
    has = "has" if verified == 1 else "have"
    return f"; {verified} of these {has} a recipe verified upstream" if verified else ""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The inspections in the file of --output, by name; `path` is None without one."""

    path: Path | None
    rows: dict[str, Inspection]

    @classmethod
    def read(cls, path: Path | None) -> "_Kept":
        """Raises `DeadheatError` for another kind of file, which must not be overwritten."""
        if path is None or not path.exists():
            return cls(path, {})
        try:
            rows = [Inspection.from_json(row) for row in json.loads(path.read_text("utf-8"))]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DeadheatError(
                f"--output {path}: not a file of `deadheat verify -o`: {error!r}",
                "choose another file, or remove this one",
            ) from error
        return cls(path, {row.name: row for row in rows})

    @property
    def all(self) -> list[Inspection]:
        return [self.rows[name] for name in sorted(self.rows)]

    def of(
        self, selection: Selection, build_key: str | None, levels: tuple[int, ...]
    ) -> Inspection | None:
        """The kept inspection of this build, start and load, if the server worked; else None."""
        row = self.rows.get(selection.name)
        if row is None or row.fault is not None:
            return None
        if (row.build_key, row.start_key) != (build_key, selection.start_key):
            return None
        return row if set(map(str, levels)) <= set(row.served) else None

    def add(self, inspection: Inspection) -> None:
        self.rows[inspection.name] = inspection
        if self.path is not None:
            text = json.dumps([row.to_json() for row in self.all], indent=1) + "\n"
            unfinished = self.path.with_suffix(".part")
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(self.path)
