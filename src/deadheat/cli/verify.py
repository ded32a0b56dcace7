"""`deadheat verify`: build, start, ask, load, stop; one line a server and how it behaves."""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click

from deadheat.build.builder import Builder
from deadheat.build.prepare import prepare
from deadheat.catalog import Catalog, Selection, Server, selection
from deadheat.cli.options import FILE, Levels, catalog_option, json_option
from deadheat.cli.progress_view import progress_view
from deadheat.cli.workbench import builder_on, chosen_servers, local_world, make_room, open_catalog
from deadheat.errors import DeadheatError
from deadheat.events import Listener
from deadheat.measure.inspection import Inspection, inspect
from deadheat.measure.world import World
from deadheat.report.formats.inspections import line, servers_page, summary

ALL_LEVELS = (10, 100, 1000)
# What the C library, curl, Java, Node and Erlang say of a host that does not resolve or answer.
OUT_OF_REACH = re.compile(
    r"Name or service not known|Temporary failure in name resolution|Could not resolve host"
    r"|Network is unreachable|No route to host|UnknownHostException|Unknown host"
    r"|ENOTFOUND|EAI_AGAIN|nxdomain"
)


@click.command("verify")
@click.argument("servers", nargs=-1)
@click.option("--language", "languages", multiple=True, help="Only servers in this language.")
@click.option("--setting", default="default", help="A named setting of the manifests.")
@click.option("--all", "every_setting", is_flag=True, help="In every setting, each under load.")
@click.option("--load", "levels", type=Levels(), help="Count who is served: 10,100,1000.")
@click.option(
    "-o",
    "--output",
    type=FILE,
    help="Keep the outcome here after each server, and go on from what is there.",
)
@click.option("--page", type=FILE, help="The outcome as Markdown.")
@catalog_option
@json_option
def command(
    servers: tuple[str, ...],
    languages: tuple[str, ...],
    setting: str,
    every_setting: bool,
    levels: tuple[int, ...] | None,
    output: Path | None,
    page: Path | None,
    catalog: str | None,
    as_json: bool,
) -> None:
    """Build and start servers, check what they answer, and stop them.

    Status, media type and body decide; the rest is how the server behaves. With --load, so many
    connections are opened, and those that get an answer are counted. No failure stops it; one
    that is the server's ends it with 1, a tool or a registry that is missing here does not.

    \b
    Examples:
      deadheat verify go-gin
      deadheat verify --all -o verified.json         every server and setting, and resume
    """
    found = open_catalog(catalog)
    chosen = list(_contenders(chosen_servers(found, servers, languages), setting, every_setting))
    kept = _Kept.read(output)
    asked = levels or (ALL_LEVELS if every_setting else ())
    make_room(*(path.absolute().parent for path in (output, page) if path))
    done: list[Inspection] = []
    with local_world("engine", 1) as world, progress_view() as listen:
        for one in _inspect_all(world, chosen, kept, asked, listen):
            done.append(one)
            kept.add(one)
            if not as_json:
                click.echo(line(one))
    if page is not None:
        page.write_text(servers_page(kept.all, found), encoding="utf-8")
    if as_json:
        click.echo(json.dumps([one.to_json() for one in done], indent=2))
    else:
        click.echo(summary(done) + _recipes(done, found))
    sys.exit(1 if any(one.fault and not one.lacks for one in done) else 0)


def _contenders(servers: Iterable[Server], setting: str, every: bool) -> Iterator[Selection]:
    for server in servers:
        for name in ("default", *server.manifest.settings) if every else (setting,):
            yield selection(server, name)


def _inspect_all(
    world: World,
    selections: list[Selection],
    kept: "_Kept",
    levels: tuple[int, ...],
    listen: Listener,
) -> Iterator[Inspection]:
    """One after the other, each built just before; what is kept of this build is not redone."""
    builder: Builder = builder_on(world.server_host)
    for one in selections:
        (candidate,) = prepare([one], world.server_host, builder, listen)
        key = candidate.built.key if candidate.built else None
        earlier = kept.of(one, key, levels)
        yield earlier or _without_registry(inspect(world, candidate, levels), one.server)


def _without_registry(one: Inspection, server: Server) -> Inspection:
    """A registry that a build could not reach is missing here; it is no fault of the server."""
    said = OUT_OF_REACH.search(one.words)
    if one.build_key is not None or one.lacks or said is None:
        return one
    return replace(
        one,
        fault=f"{server.name} is left out: its registry cannot be reached ({said.group()})",
        words="",
        lacks=(f"deadheat build {server.name}  # where it can be",),
    )


def _recipes(done: Iterable[Inspection], catalog: Catalog) -> str:
    """How many of those missing here have run elsewhere, from upstream sources."""
    tried = [o for o in done if o.lacks and catalog.servers[o.server].manifest.verified]
    return f" ({len(tried)} of them a recipe, verified against upstream)" if tried else ""


@dataclass(frozen=True, slots=True)
class _Kept:
    """The outcome so far, in a file that a later call goes on from; or nowhere."""

    path: Path | None
    rows: dict[str, Inspection]

    @classmethod
    def read(cls, path: Path | None) -> "_Kept":
        """Raises `DeadheatError` for a file that is not an outcome: it is not overwritten."""
        if path is None or not path.exists():
            return cls(path, {})
        try:
            rows = [Inspection.from_json(row) for row in json.loads(path.read_text("utf-8"))]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DeadheatError(
                f"{path} is not an outcome of `deadheat verify -o`: {error!r}",
                "name another file, or remove this one",
            ) from error
        return cls(path, {row.name: row for row in rows})

    @property
    def all(self) -> list[Inspection]:
        return [self.rows[name] for name in sorted(self.rows)]

    def of(
        self, selection: Selection, build_key: str | None, levels: tuple[int, ...]
    ) -> Inspection | None:
        """What is known of this build, if it was started so, worked and was loaded so."""
        row = self.rows.get(selection.name)
        if row is None or row.fault is not None:
            return None
        if (row.build_key, row.start_key) != (build_key, selection.start_key):
            return None
        return row if set(map(str, levels)) <= set(row.served) else None

    def add(self, one: Inspection) -> None:
        self.rows[one.name] = one
        if self.path is not None:
            text = json.dumps([row.to_json() for row in self.all], indent=1) + "\n"
            unfinished = self.path.with_suffix(".part")
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(self.path)
