"""`deadheat list`: lists the servers, and what is missing to run them."""

import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from deadheat import numbers
from deadheat.build.builder import find_build
from deadheat.catalog import Catalog, Server, Toolchains, choose, find_root, load_catalog, missing
from deadheat.catalog.manifest import HTTP
from deadheat.catalog.toolchain import UPDATE, ProbeCache, needs_update, unknown_probes
from deadheat.cli.help import listed
from deadheat.cli.options import catalog_option, json_option, language_option, servers_argument
from deadheat.foreign_text import escaped
from deadheat.home import home
from deadheat.output import echo, echo_json

HEADERS = ("server", "language", "framework", "kind", "here")
GAP = "  "
INSTALL = "install what is missing, as root; `deadheat build SERVER --install` does it for SERVER:"
STATE_WIDTH_LEAST = 24  # columns; where less is left, the state has its own lines


@listed("list")
@servers_argument
@language_option
@catalog_option
@json_option
def command(
    servers: tuple[str, ...], languages: tuple[str, ...], catalog: str | None, as_json: bool
) -> None:
    """SERVERS are names or globs; the default is all of your catalog, or else all that deadheat
    ships. Below the table are the lines that install what the listed servers need and this machine
    does not have.

    \b
    Examples:
      deadheat list
      deadheat list 'python-*'
      deadheat list --language go
    """
    servers_catalog = load_catalog(find_root(catalog))
    chosen = choose(servers_catalog, servers, languages)
    rows = _rows(chosen)
    faults = {} if servers or languages else {n: str(f) for n, f in servers_catalog.faults.items()}
    if as_json:
        echo_json({"servers": rows, "faults": faults})
        return
    _print(rows, faults, servers_catalog)


def _rows(servers: Sequence[Server]) -> list[dict[str, Any]]:
    """One row for each server. Starts an agent only if a tool has to be probed."""
    cache = ProbeCache(home() / "probes.json")
    if unknown_probes(servers, cache):
        from deadheat.host.local import LocalHost

        with LocalHost() as host:
            Toolchains(host, cache).probe_all(servers)
        cache.save()
    toolchains = Toolchains(None, cache)
    rows = [_row(server, toolchains, home() / "builds") for server in servers]
    cache.save()
    return rows


def _row(server: Server, toolchains: Toolchains, builds: Path) -> dict[str, Any]:
    probes = toolchains.check(server)
    missing_probes = missing(probes)
    manifest = server.manifest
    built = not missing_probes and find_build(builds, server, probes) is not None
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
        "settings": list(server.settings),
        "workloads": list(manifest.workloads),
        "transports": [HTTP, *manifest.transports],
        "published": [row.model_dump() for row in manifest.published],
    }


def _print(rows: list[dict[str, Any]], faults: dict[str, str], catalog: Catalog) -> None:
    # Not on a terminal, rows stay whole: other programs read them line by line.
    width = shutil.get_terminal_size().columns if _is_terminal() else None
    cells = [[escaped(row[name]) for name in ("name", *HEADERS[1:4])] for row in rows]
    widths = [max(map(_width, column)) for column in zip(HEADERS[:4], *cells, strict=True)]
    _print_row(HEADERS[:4], HEADERS[4], widths, width, bold=True)
    for row, names in zip(rows, cells, strict=True):
        _print_row(names, _state(row), widths, width, fg="green" if row["ready"] else "yellow")
    if grouped := _grouped(rows):
        _print_folded(INSTALL, width)
    if needs_update(install for row in rows for install in row["install"]):
        _print_folded(f"  {UPDATE}", width)
    for installs, names in grouped.items():
        for install in installs:
            _print_folded(f"  {escaped(install)}", width)
        _print_folded(f"      for {escaped(numbers.listing(names))}", width)
    for fault in faults.values():
        for line in fault.splitlines():
            _print_folded(line, width, fg="red")
    servers = numbers.count(len(rows), "server")
    ready = sum(row["ready"] for row in rows)
    _print_folded(f"{servers} in {catalog.root / 'servers'}, {ready} ready here", width)
    if catalog.shipped and not any(row["name"] in catalog.shipped for row in rows):
        more = numbers.count(len(catalog.shipped), "more server")
        _print_folded(f"{more} of deadheat: deadheat list '*'", width)


def _is_terminal() -> bool:
    return sys.stdout.isatty()


def _state(row: dict[str, Any]) -> str:
    if row["built"]:
        return "built"
    state = "ready" if row["ready"] else "; ".join(row["missing"])
    untried = "not tried with its registry" if row["verified"] else ""
    return escaped("; ".join(filter(None, [state, untried])))


def _grouped(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, ...], list[str]]:
    """Install commands with the servers that need them; commands for the same servers together."""
    names_by_install: dict[str, list[str]] = {}
    for row in rows:
        for install in row["install"]:
            names_by_install.setdefault(install, []).append(row["name"])
    installs_by_names: dict[tuple[str, ...], list[str]] = {}
    for install, names in names_by_install.items():
        installs_by_names.setdefault(tuple(names), []).append(install)
    return {tuple(installs): list(names) for names, installs in installs_by_names.items()}


def _print_row(
    names: Sequence[str], state: str, widths: Sequence[int], width: int | None, **style: Any
) -> None:
    """One row. On a terminal the state is folded, on its own lines where too little is left."""
    line = "".join(
        name + " " * (column - _width(name)) + GAP
        for name, column in zip(names, widths, strict=True)
    )
    if width is None:
        echo(line, newline=False)
        echo(state, **style)
        return
    left = sum(widths) + len(GAP) * len(widths)
    indent = left if width - left >= STATE_WIDTH_LEAST else min(len(GAP), width - 1)
    parts = textwrap.wrap(state, max(width - indent, 1), break_on_hyphens=False) or [""]
    if indent < left:
        for part in _folded(line.rstrip(), width):
            echo(part)
        first = " " * indent
    else:
        first = line
    for part in parts:
        echo(first, newline=False)
        echo(part, **style)
        first = " " * indent


def _print_folded(text: str, width: int | None, **style: Any) -> None:
    for line in [text] if width is None else _folded(text, width):
        echo(line, **style)


def _folded(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, folded at spaces where there are any."""
    indent = " " * min(len(text) - len(text.lstrip()), max(width - 1, 0))
    lines = textwrap.wrap(
        text.lstrip(),
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    return lines or [""]


def _width(text: str) -> int:
    """Columns of a terminal: East Asian wide characters take two."""
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)
