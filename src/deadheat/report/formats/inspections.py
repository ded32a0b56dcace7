"""What `deadheat verify` found: a line for each contender, and the page docs/servers.md."""

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
    "works": "the right answer, every connection served at each level, ended when told to",
    "works, with a note": "the right answer, but it fell short in something: below",
    RECIPE: "its registry cannot be reached from here; its folder ran on upstream sources",
    "missing here": "a tool it needs is not on this machine",
    "fails": "it was not built, did not start, or gave a wrong answer",
}
HEAD = """# Servers

Every server in `servers/`, in each of its settings (`server:setting`), as `make verify-all` found
it: built, started, asked, loaded at 10, 100 and 1,000 connections, stopped. *Served* is how many of
those connections, all open at once, got an answer. The outcome this page is generated from is kept
in [`results/servers.json`](results/servers.json). What has no folder, and why, is in
[servers-missing.md](servers-missing.md)."""
SHORT = """## What fell short

A connection is served if it gets one answer within ten seconds. `connect_timeout` counts those that
were not accepted in time, which is what a short backlog does. The settings called `published` have
the backlogs and limits that were published."""
RECIPES = """## Recipes verified against upstream

The registry that these recipes ask cannot be reached from the machine this was run on. Each folder
was built and run on upstream sources of the versions named."""
PUBLISHED = """## Published rows

Each row of the three comparisons, in the order of its table, the contender that stands for it here,
and what differs from what was published."""
BEHAVIOUR = """## Behaviour

Each server that answered, in its default setting. *Ready* is the time from its start to the first
right answer, *idle* the memory it then has, *closes when asked* whether it honours
`Connection: close`, *pipelined* how many of two requests sent together it answers."""


def line(one: Inspection) -> str:
    """One contender on one line."""
    if one.fault is not None or one.behavior is None:
        install = f" ({' && '.join(one.lacks)})" if one.lacks else ""
        told = f"{'lack' if one.lacks else 'FAIL'} {one.name}: {one.fault}{install}"
        return "\n  | ".join([told, *one.words.splitlines()])
    behavior = one.behavior
    traits = [
        f"ready {one.ready_s:.2f} s",
        f"{format.mebibytes(one.idle_memory_bytes)} MiB",
        behavior["framing"],
        f"head {behavior['head_bytes']} B",
        "keep-alive" if behavior["keep_alive"] else "closes each connection",
        "close honoured" if behavior["close_honored"] else "ignores Connection: close",
        f"HTTP/1.0 {behavior['http_1_0'] or 'unanswered'}",
        f"HEAD {behavior['head'] or 'unanswered'}",
        f"{behavior['pipelined'] or 0} of 2 pipelined",
        f"unknown path {behavior['unknown_path'] or 'unanswered'}",
        *([f"served {_served(one)}"] if one.served else []),
        one.stop or "",
        *one.cautions,
    ]
    state = "note" if one.cautions else "ok  "
    return f"{state} {one.name} {one.version or ''}: {', '.join(traits)}"


def summary(found: Sequence[Inspection]) -> str:
    """How many came to what."""
    counts = Counter(one.state for one in found)
    told = [f"{counts[state]} {state}" for state in ("works", "works, with a note", "fails")]
    return "; ".join([*told, f"{counts['missing here']} missing here"])


def servers_page(found: Sequence[Inspection], catalog: Catalog) -> str:
    """docs/servers.md: states, published rows and behaviour, of what is still in the catalog."""
    shown = sorted((one for one in found if one.server in catalog.servers), key=_place)
    states = {one.name: _state(one, catalog) for one in shown}
    parts = [
        HEAD,
        f"{len({one.server for one in shown})} servers, {len(shown)} contenders:",
        _table(("state", "contenders", "that is"), _counts(states)),
        SHORT,
        _table(
            ("contender", "state", "served", "what was seen", "notes"),
            _shortfalls(shown, states, catalog),
        ),
        RECIPES,
        _table(("server", "tried on", "what stands in the way here"), _recipes(shown, catalog)),
        "## All contenders",
        _table(
            ("contender", "language", "version", "state", "served", "notes"),
            _contenders(shown, catalog),
        ),
        PUBLISHED,
        _table(("comparison", "row", "contender", "state", "differs"), _published(shown, catalog)),
        BEHAVIOUR,
        _table(
            (
                "server",
                "ready s",
                "idle MiB",
                *(h.replace("\n", " ") for h in QUESTIONS.values()),
                "unknown path",
                "Date",
                "stop",
            ),
            _behaviour(shown),
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _place(one: Inspection) -> tuple[str, bool, str]:
    """A server's settings together, its default first."""
    return one.server, one.setting != "default", one.setting


def _counts(states: Mapping[str, str]) -> Iterator[Sequence[str]]:
    counts = Counter(states.values())
    for state, meaning in STATES.items():
        yield state, str(counts[state]), meaning


def _shortfalls(
    found: Sequence[Inspection], states: Mapping[str, str], catalog: Catalog
) -> Iterator[Sequence[str]]:
    for one in found:
        if states[one.name] not in ("works", RECIPE):
            seen = "; ".join((*([one.fault] if one.fault else []), *one.cautions))
            told = format.plain(seen), _notes(one, catalog)
            yield one.name, states[one.name], _served(one), *told


def _recipes(found: Sequence[Inspection], catalog: Catalog) -> Iterator[Sequence[str]]:
    """One row a server: its settings share the recipe."""
    for one in found:
        if _state(one, catalog) == RECIPE and one.setting == "default":
            verified = catalog.servers[one.server].manifest.verified or format.NONE
            fault = (one.fault or format.NONE).removeprefix(f"{one.server} is left out: ")
            yield one.server, verified, format.plain(fault.removeprefix(f"{one.server}: "))


def _contenders(found: Sequence[Inspection], catalog: Catalog) -> Iterator[Sequence[str]]:
    for one in found:
        yield (
            one.name,
            catalog.servers[one.server].manifest.language,
            one.version or format.NONE,
            _state(one, catalog),
            _served(one),
            _notes(one, catalog),
        )


def _notes(one: Inspection, catalog: Catalog) -> str:
    """What the manifest says of a setting, or of the server where it is the default."""
    manifest = catalog.servers[one.server].manifest
    setting = manifest.settings.get(one.setting)
    return " ".join(map(_sentence, manifest.notes if setting is None else (setting.why,)))


def _published(found: Sequence[Inspection], catalog: Catalog) -> Iterator[Sequence[str]]:
    states = {(one.server, one.setting): one for one in found}
    for comparison in COMPARISONS:
        figures = read_figures(catalog.root / "published" / f"{comparison}.csv")
        for row in figures.rows:
            carriers = list(_carriers(catalog, comparison, row))
            if not carriers:
                yield comparison, row, format.NONE, "no folder", "see servers-missing.md"
            for server, setting, differs in carriers:
                one = states.get((server.name, setting))
                yield (
                    comparison,
                    row,
                    one.name if one else server.name,
                    _state(one, catalog) if one else "not inspected",
                    "; ".join(differs),
                )


def _carriers(
    catalog: Catalog, comparison: str, row: str
) -> Iterator[tuple[Server, str, Sequence[str]]]:
    for server in catalog.servers.values():
        for published in server.manifest.published:
            if (published.protocol, published.row) == (comparison, row):
                yield server, published.setting, published.differs


def _behaviour(found: Sequence[Inspection]) -> Iterator[Sequence[str]]:
    """The default setting of each server that answered."""
    for _, settings in groupby(found, key=lambda one: one.server):
        one = next((one for one in settings if one.behavior is not None), None)
        if one is None or one.behavior is None:
            continue
        yield (
            one.name,
            f"{one.ready_s:.2f}",
            format.mebibytes(one.idle_memory_bytes),
            *(answer(one.behavior.get(key)) for key in QUESTIONS),
            answer(one.behavior.get("unknown_path")),
            answer(one.behavior.get("date")),
            one.stop or format.NONE,
        )


def _state(one: Inspection, catalog: Catalog) -> str:
    """What was seen here; of what no registry here can install, how else it was tried."""
    if one.lacks and catalog.servers[one.server].manifest.verified:
        return RECIPE
    return one.state


def _served(one: Inspection) -> str:
    return ", ".join(f"{served:,}" for served in one.served.values()) or format.NONE


def _sentence(text: str) -> str:
    text = format.plain(text)
    return text if text.endswith((".", "…")) else f"{text}."


def _table(header: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *([escape(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
