"""The results of `deadheat verify`: a line for each contender, and the page docs/servers.md."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from deadheat.catalog import Catalog, Server
from deadheat.measure.inspection import Inspection
from deadheat.protocol.figures import read_figures
from deadheat.report import format
from deadheat.report.findings.behavior import QUESTIONS, answer
from deadheat.report.formats.markdown import escape

COMPARISONS = ("kzmake-2018", "woo-2016", "landshark-2009")
RECIPE = "recipe, verified against upstream"
STATES = {
    "works": "the right answer, every connection served at each level, stopped on request",
    "works, with a note": "the right answer, with a shortfall: see below",
    RECIPE: "its registry is unreachable from this machine; its folder ran on upstream sources",
    "missing here": "this machine lacks a tool that it needs",
    "fails": "it did not build, did not start, or gave a wrong answer",
}
HEAD = """# Servers

Every server in `servers/` in each of its settings (`server:setting`). `make verify-all` built each
one, started it, checked its answers, loaded it at 10, 100 and 1,000 connections, and stopped it.
*Served* is the number of those connections, all open together, that got an answer. This page is
generated from [`results/servers.json`](results/servers.json).
[servers-missing.md](servers-missing.md) lists servers without a folder, with the reasons."""
SHORT = """## Shortfalls

A connection is served if it gets one answer within ten seconds. `connect_timeout` counts
connections that were not accepted in time, as with a short backlog. The settings called `published`
have the published backlogs and limits."""
RECIPES = """## Recipes verified against upstream

The machine that ran this cannot reach the registry that these recipes need. Each folder was built
and run on upstream sources of the named versions."""
PUBLISHED = """## Published rows

Each row of the three comparisons, in the order of its table, with the contender that repeats it and
the differences from what was published."""
BEHAVIOR = """## Behavior

Each server that answered, in its default setting. *Ready* is the time from the start to the first
right answer, *idle* the memory at that point, *closes when asked* whether it honors
`Connection: close`, *pipelined* how many of two requests sent together it answers. *Freeze* is
`unchanged` if, after 90 s frozen as in a race, the server gave the right answer and had the same
processes as before."""


def line(inspection: Inspection) -> str:
    """One contender on one line."""
    if inspection.fault is not None or inspection.behavior is None:
        state = "lack" if inspection.lacks else "FAIL"
        install = f" ({' && '.join(inspection.lacks)})" if inspection.lacks else ""
        first = f"{state} {inspection.name}: {inspection.fault}{install}"
        return "\n  | ".join([first, *inspection.words.splitlines()])
    behavior = inspection.behavior
    traits = [
        f"ready {inspection.ready_s:.2f} s",
        f"{format.mebibytes(inspection.idle_memory_bytes)} MiB",
        behavior["framing"],
        f"head {behavior['head_bytes']} B",
        "keep-alive" if behavior["keep_alive"] else "closes each connection",
        "close honored" if behavior["close_honored"] else "ignores Connection: close",
        f"HTTP/1.0 {behavior['http_1_0'] or 'unanswered'}",
        f"HEAD {behavior['head'] or 'unanswered'}",
        f"{behavior['pipelined'] or 0} of 2 pipelined",
        f"unknown path {behavior['unknown_path'] or 'unanswered'}",
        *([f"workloads {', '.join(inspection.workloads)}"] if inspection.workloads else []),
        *([f"served {_served(inspection)}"] if inspection.served else []),
        *([f"unchanged after {inspection.frozen_s:g} s frozen"] if inspection.frozen_s else []),
        inspection.stop or "",
        *inspection.cautions,
    ]
    state = "note" if inspection.cautions else "ok  "
    return f"{state} {inspection.name} {inspection.version or ''}: {', '.join(traits)}"


def summary(inspections: Sequence[Inspection]) -> str:
    """How many contenders are in each state."""
    counts = Counter(inspection.state for inspection in inspections)
    parts = [f"{counts[state]} {state}" for state in ("works", "works, with a note", "fails")]
    return "; ".join([*parts, f"{counts['missing here']} missing here"])


def servers_page(inspections: Sequence[Inspection], catalog: Catalog) -> str:
    """docs/servers.md: states, published rows and behavior of the contenders in the catalog."""
    shown = sorted(
        (inspection for inspection in inspections if inspection.server in catalog.servers),
        key=_sort_key,
    )
    states = {inspection.name: _state(inspection, catalog) for inspection in shown}
    parts = [
        HEAD,
        f"{len({inspection.server for inspection in shown})} servers, {len(shown)} contenders:",
        _table(("state", "contenders", "that is"), _counts(states)),
        SHORT,
        _table(
            ("contender", "state", "served", "shortfall", "notes"),
            _shortfalls(shown, states, catalog),
        ),
        RECIPES,
        _table(("server", "verified on", "why it cannot be built here"), _recipes(shown, catalog)),
        "## All contenders",
        _table(
            ("contender", "language", "version", "state", "served", "notes"),
            _contenders(shown, catalog),
        ),
        PUBLISHED,
        _table(("comparison", "row", "contender", "state", "differs"), _published(shown, catalog)),
        BEHAVIOR,
        _table(
            (
                "server",
                "ready s",
                "idle MiB",
                *(h.replace("\n", " ") for h in QUESTIONS.values()),
                "unknown path",
                "Date",
                "freeze",
                "stop",
            ),
            _behavior(shown),
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _sort_key(inspection: Inspection) -> tuple[str, bool, str]:
    """Sort key: a server's settings together, its default first."""
    return inspection.server, inspection.setting != "default", inspection.setting


def _counts(states: Mapping[str, str]) -> Iterator[Sequence[str]]:
    counts = Counter(states.values())
    for state, meaning in STATES.items():
        yield state, str(counts[state]), meaning


def _shortfalls(
    inspections: Sequence[Inspection], states: Mapping[str, str], catalog: Catalog
) -> Iterator[Sequence[str]]:
    for inspection in inspections:
        if states[inspection.name] not in ("works", RECIPE):
            shortfalls = [inspection.fault, *inspection.cautions]
            yield (
                inspection.name,
                states[inspection.name],
                _served(inspection),
                format.plain("; ".join(filter(None, shortfalls))),
                _notes(inspection, catalog),
            )


def _recipes(inspections: Sequence[Inspection], catalog: Catalog) -> Iterator[Sequence[str]]:
    """A row for each server: its settings share the recipe."""
    for inspection in inspections:
        if _state(inspection, catalog) == RECIPE and inspection.setting == "default":
            verified = catalog.servers[inspection.server].manifest.verified or format.NONE
            fault = inspection.fault or format.NONE
            for prefix in (f"{inspection.server} is left out: ", f"{inspection.server}: "):
                fault = fault.removeprefix(prefix)
            yield inspection.server, verified, format.plain(fault)


def _contenders(inspections: Sequence[Inspection], catalog: Catalog) -> Iterator[Sequence[str]]:
    for inspection in inspections:
        yield (
            inspection.name,
            catalog.servers[inspection.server].manifest.language,
            inspection.version or format.NONE,
            _state(inspection, catalog),
            _served(inspection),
            _notes(inspection, catalog),
        )


def _notes(inspection: Inspection, catalog: Catalog) -> str:
    """The manifest's notes on a setting; for the default setting, those on the server."""
    manifest = catalog.servers[inspection.server].manifest
    setting = manifest.settings.get(inspection.setting)
    return " ".join(map(_sentence, manifest.notes if setting is None else (setting.why,)))


def _published(inspections: Sequence[Inspection], catalog: Catalog) -> Iterator[Sequence[str]]:
    states = {(inspection.server, inspection.setting): inspection for inspection in inspections}
    for comparison in COMPARISONS:
        figures = read_figures(catalog.root / "published" / f"{comparison}.csv")
        for row in figures.rows:
            matches = list(_servers_of(catalog, comparison, row))
            if not matches:
                yield comparison, row, format.NONE, "no server here", "see servers-missing.md"
            for server, setting, differs in matches:
                inspection = states.get((server.name, setting))
                yield (
                    comparison,
                    row,
                    inspection.name if inspection else server.name,
                    _state(inspection, catalog) if inspection else "not verified",
                    "; ".join(differs),
                )


def _servers_of(
    catalog: Catalog, comparison: str, row: str
) -> Iterator[tuple[Server, str, Sequence[str]]]:
    for server in catalog.servers.values():
        for published in server.manifest.published:
            if (published.protocol, published.row) == (comparison, row):
                yield server, published.setting, published.differs


def _behavior(inspections: Sequence[Inspection]) -> Iterator[Sequence[str]]:
    """The default setting of each server that answered."""
    for _, settings in groupby(inspections, key=lambda inspection: inspection.server):
        inspection = next(
            (inspection for inspection in settings if inspection.behavior is not None), None
        )
        if inspection is None or inspection.behavior is None:
            continue
        yield (
            inspection.name,
            f"{inspection.ready_s:.2f}",
            format.mebibytes(inspection.idle_memory_bytes),
            *(answer(inspection.behavior.get(key)) for key in QUESTIONS),
            answer(inspection.behavior.get("unknown_path")),
            answer(inspection.behavior.get("date")),
            _freeze(inspection),
            inspection.stop or format.NONE,
        )


def _freeze(inspection: Inspection) -> str:
    if inspection.frozen_s is None:
        return format.NONE
    return "changed" if inspection.fault is not None else "unchanged"


def _state(inspection: Inspection, catalog: Catalog) -> str:
    """The state; `RECIPE` if no registry here can install it but it was verified otherwise."""
    if inspection.lacks and catalog.servers[inspection.server].manifest.verified:
        return RECIPE
    return inspection.state


def _served(inspection: Inspection) -> str:
    return ", ".join(f"{served:,}" for served in inspection.served.values()) or format.NONE


def _sentence(text: str) -> str:
    text = format.plain(text)
    return text if text.endswith((".", "…")) else f"{text}."


def _table(header: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *([escape(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
