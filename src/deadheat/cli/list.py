"""`deadheat list`: lists the servers, and what is missing to run them."""

import sys
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from deadheat.build.builder import Builder
from deadheat.catalog import (
    Catalog,
    Server,
    Toolchains,
    choose,
    find_root,
    load_catalog,
    missing,
)
from deadheat.catalog.probe_cache import ProbeCache
from deadheat.cli.install import UPDATE, needs_update
from deadheat.cli.options import catalog_option, json_option
from deadheat.cli.server_names import complete_servers
from deadheat.console import console
from deadheat.foreign_text import escaped, printable
from deadheat.host.local import LocalHost
from deadheat.output import echo_json
from deadheat.report import format
from deadheat.store import home

LINE_COLUMNS = 400


@click.command("list")
@click.argument("servers", nargs=-1, shell_complete=complete_servers)
@click.option("--language", "languages", multiple=True, help="Only servers in this language.")
@catalog_option
@json_option
def command(
    servers: tuple[str, ...], languages: tuple[str, ...], catalog: str | None, as_json: bool
) -> None:
    """List the servers: built, ready to build, or what is missing and how to install it.

    \b
    Example:  deadheat list 'python-*'
    """
    servers_catalog = load_catalog(find_root(catalog))
    chosen = choose(servers_catalog, servers, languages)
    with LocalHost() as host:
        cache = ProbeCache(home() / "probes.json")
        toolchains, builder = Toolchains(host, cache), Builder(host, home() / "builds")
        toolchains.probe_all(chosen)
        cache.save()
        rows = [_row(server, toolchains, builder) for server in chosen]
    faults = {} if servers or languages else {n: str(f) for n, f in servers_catalog.faults.items()}
    if as_json:
        echo_json({"servers": rows, "faults": faults})
        return
    _print(rows, faults, servers_catalog)


def _row(server: Server, toolchains: Toolchains, builder: Builder) -> dict[str, Any]:
    probes = toolchains.check(server)
    missing_probes = missing(probes)
    manifest = server.manifest
    built = not missing_probes and builder.find(server, probes) is not None
    return {
        "name": server.name,
        "language": manifest.language,
        "framework": manifest.framework,
        "kind": manifest.kind,
        "homepage": manifest.homepage,
        # With `verified`, the recipe has not built from its registry yet: only a build shows it.
        "ready": built or (not missing_probes and manifest.verified is None),
        "built": built,
        "missing": [probe.fault for probe in missing_probes],
        "install": list(dict.fromkeys(probe.need.install for probe in missing_probes)),
        "toolchains": {p.need.tool: p.version for p in probes if p.version is not None},
        "verified": manifest.verified,
        "settings": ["default", *manifest.settings],
        "published": [row.model_dump() for row in manifest.published],
    }


def _print(rows: list[dict[str, Any]], faults: dict[str, str], catalog: Catalog) -> None:
    # Not on a terminal, rows must stay whole: other programs read them line by line.
    out = console(width=None if sys.stdout.isatty() else LINE_COLUMNS)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("server", "language", "framework", "kind", "here"):
        table.add_column(name, overflow="fold")
    for row in rows:
        state = "built" if row["built"] else "ready" if row["ready"] else "; ".join(row["missing"])
        if row["verified"] and not row["built"]:
            state = "; ".join(filter(None, [state, "not tried with its registry"]))
        style = "green" if row["ready"] else "yellow"
        cells = [Text(escaped(row[name])) for name in ("name", "language", "framework", "kind")]
        table.add_row(*cells, Text(escaped(state), style=style))
    out.print(table)
    names_by_install: dict[str, list[str]] = {}
    for row in rows:
        for install in row["install"]:
            names_by_install.setdefault(install, []).append(row["name"])
    if needs_update(names_by_install):
        out.print(Text(f"install with: {UPDATE}"), soft_wrap=not sys.stdout.isatty())
        out.print(
            Text("    first; `deadheat build SERVER --install` runs the lines that SERVER needs"),
            soft_wrap=not sys.stdout.isatty(),
        )
    for install, names in names_by_install.items():
        out.print(Text(f"install with: {escaped(install)}"), soft_wrap=not sys.stdout.isatty())
        out.print(
            Text(f"    for {escaped(format.listing(names))}"), soft_wrap=not sys.stdout.isatty()
        )
    for fault in faults.values():
        out.print(Text(printable(fault), style="red"), soft_wrap=not sys.stdout.isatty())
    servers = format.count(len(rows), "server")
    ready = sum(row["ready"] for row in rows)
    out.print(Text(f"{servers} in {catalog.root / 'servers'}, {ready} ready here"))
