"""`deadheat list`: lists the servers, and what is missing to run them."""

import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
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
from deadheat.strict import JsonObject

HEADERS = ("server", "language", "framework", "kind", "here")
GAP = "  "
INSTALL = "install what is missing, as root; `deadheat build SERVER --install` does it for SERVER:"
STATE_WIDTH_LEAST = 24  # columns, if it is so long; where less is left, it has its own lines


@dataclass(frozen=True, slots=True)
class ListedServer:
    """A row of the list; its fields are the keys of `--json`."""

    name: str
    language: str
    framework: str
    kind: str
    homepage: str | None
    ready: bool
    built: bool
    missing: tuple[str, ...]
    install: tuple[str, ...]
    toolchains: dict[str, str]
    verified: str | None
    settings: tuple[str, ...]
    workloads: tuple[str, ...]
    transports: tuple[str, ...]
    published: tuple[JsonObject, ...]

    @property
    def state(self) -> str:
        if self.built:
            return "built"
        state = "ready" if self.ready else "; ".join(self.missing)
        untried = "not tried with its registry" if self.verified else ""
        return escaped("; ".join(filter(None, [state, untried])))


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
    rows = rows_of(chosen)
    faults = {} if servers or languages else {n: str(f) for n, f in servers_catalog.faults.items()}
    if as_json:
        echo_json({"servers": [asdict(row) for row in rows], "faults": faults})
        return
    _print(rows, faults, servers_catalog)


def rows_of(servers: Sequence[Server]) -> list[ListedServer]:
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


def _row(server: Server, toolchains: Toolchains, builds: Path) -> ListedServer:
    probes = toolchains.check(server)
    missing_probes = missing(probes)
    manifest = server.manifest
    built = not missing_probes and find_build(builds, server, probes) is not None
    return ListedServer(
        name=server.name,
        language=manifest.language,
        framework=manifest.framework,
        kind=manifest.kind,
        homepage=manifest.homepage,
        # With `verified`, the recipe has not built from its registry yet: only a build shows it.
        ready=built or (not missing_probes and manifest.verified is None),
        built=built,
        missing=tuple(filter(None, (probe.fault for probe in missing_probes))),
        install=tuple(dict.fromkeys(probe.need.install for probe in missing_probes)),
        toolchains={p.need.tool: p.version for p in probes if p.version is not None},
        verified=manifest.verified,
        settings=tuple(server.settings),
        workloads=tuple(manifest.workloads),
        transports=(HTTP, *manifest.transports),
        published=tuple(row.model_dump() for row in manifest.published),
    )


def _print(rows: list[ListedServer], faults: dict[str, str], catalog: Catalog) -> None:
    # Not on a terminal, rows stay whole: other programs read them line by line.
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    cells = [
        [escaped(text) for text in (row.name, row.language, row.framework, row.kind)]
        for row in rows
    ]
    widths = [max(map(_width, column)) for column in zip(HEADERS[:4], *cells, strict=True)]
    least = min(STATE_WIDTH_LEAST, max((_width(row.state) for row in rows), default=0))
    _print_row(HEADERS[:4], HEADERS[4], widths, width, least, bold=True)
    for row, names in zip(rows, cells, strict=True):
        fg = "green" if row.ready else "yellow"
        _print_row(names, row.state, widths, width, least, fg=fg)
    if grouped := _grouped({row.name: row.install for row in rows}):
        _print_folded(INSTALL, width)
    if needs_update(install for row in rows for install in row.install):
        _print_folded(f"  {UPDATE}", width)
    for installs, names in grouped.items():
        for install in installs:
            _print_folded(f"  {escaped(install)}", width)
        _print_folded(f"      for {escaped(numbers.listing(names))}", width)
    for fault in faults.values():
        for line in fault.splitlines():
            _print_folded(line, width, fg="red")
    servers = numbers.count(len(rows), "server")
    ready = sum(row.ready for row in rows)
    _print_folded(f"{servers} in {catalog.root / 'servers'}, {ready} ready here", width)
    if catalog.shipped and not any(row.name in catalog.shipped for row in rows):
        more = numbers.count(len(catalog.shipped), "more server")
        _print_folded(f"{more} of deadheat: deadheat list '*'", width)


def _grouped(needed: Mapping[str, Sequence[str]]) -> dict[tuple[str, ...], list[str]]:
    """Install commands with the servers that need them; commands for the same servers together."""
    names_by_install: dict[str, list[str]] = {}
    for name, installs in needed.items():
        for install in installs:
            names_by_install.setdefault(install, []).append(name)
    installs_by_names: dict[tuple[str, ...], list[str]] = {}
    for install, names in names_by_install.items():
        installs_by_names.setdefault(tuple(names), []).append(install)
    return {tuple(together): list(names) for names, together in installs_by_names.items()}


def _print_row(
    names: Sequence[str],
    state: str,
    widths: Sequence[int],
    width: int | None,
    least: int,
    **style: Any,
) -> None:
    """One row. On a terminal the state is folded, on its own lines where less is left."""
    line = "".join(
        name + " " * (column - _width(name)) + GAP
        for name, column in zip(names, widths, strict=True)
    )
    if width is None:
        echo(line, newline=False)
        echo(state, **style)
        return
    left = sum(widths) + len(GAP) * len(widths)
    indent = left if width - left >= least else min(len(GAP), width - 1)
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
