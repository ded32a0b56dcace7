"""The results of `deadheat verify`: lines, pages (docs/servers.md and one for each language), and
the comment on a pull request.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from deadheat import numbers
from deadheat.catalog import Catalog, Server, layered, selection
from deadheat.foreign_text import one_line
from deadheat.measure.inspection import Inspection
from deadheat.measure.review import Check
from deadheat.protocol.figures import read_figures
from deadheat.report.formats.markdown import escape, plain_table
from deadheat.report.formats.tables import QUESTIONS, answer
from deadheat.report.model.facts import grouped
from deadheat.store.json_columns import Behavior

COMPARISONS = ("kzmake-2018", "woo-2016", "landshark-2009")
RECIPE = "recipe, not verified"
STALE = "verified, then changed"
STATES = {
    "works": "the right answer, every connection served at each level, stopped on request",
    "works, with a note": "the right answer, with a shortfall: see the page of its language",
    RECIPE: "its registry is unreachable from this machine, so its folder was never built here",
    STALE: "its folder changed after its verification, which is stored",
    "missing here": "this machine lacks a tool that it needs",
    "fails": "it did not build, did not start, or gave a wrong answer",
}
HEAD = """# Servers

Every server in `servers/` in each of its settings (`server:setting`). `make verify-all` built each
one, started it, checked its answers, loaded it at 10, 100 and 1,000 connections, and stopped it. It
also wrote this page and those that it links to. [servers-missing.md](servers-missing.md) lists
servers without a folder, with the reasons."""
TABLE = """The page of a language has the version, the settings and the results of each server. A
*shortfall* is a contender that did not work, or that changed after its verification, or did not
serve every connection: in one load of one second and then in three of ten seconds. Connections that
are not served usually wait in the server's accept queue, the Recv-Q in `ss -ltn`: while it is busy
with the first connections, it accepts few others. The settings called `published` have the
published backlogs and limits. Every server with workers also has the setting `multicore`, four of
them; `bench/multicore.py` shows how many worked."""
CHANGED = "its folder changed after its verification"
BEHAVIOR = """## Behavior

Each server that answered, in its default setting. *Ready* is the time from the start to the first
right answer, *idle* the memory at that point, *closes when asked* whether it honors
`Connection: close`, *pipelined* how many of two requests sent together it answers. *Freeze* is
`unchanged` if, after 90 s frozen as in a race, the server gave the right answer and had the same
processes as before."""
PUBLISHED = """# Published rows

Each row of the three comparisons, in the order of its table, with the contender that repeats it and
the differences from what was published. [The servers](../{index}) have the details."""
MARKS = {True: "✅ pass", False: "❌ FAIL", None: "⚪ not decided"}
READING_MAX = 200  # characters; a comment shows a table of short lines


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
        f"{numbers.mebibytes(inspection.idle_memory_bytes)} MiB",
        *_of_protocol(behavior),
        *filter(None, [behavior.tls]),
        f"unknown path {behavior.unknown_path or 'unanswered'}",
        *([f"workloads {', '.join(inspection.workloads)}"] if inspection.workloads else []),
        *([f"served {served(inspection)}"] if inspection.served else []),
        *([f"unchanged after {inspection.frozen_s:g} s frozen"] if inspection.frozen_s else []),
        *filter(None, [inspection.stop]),
        *inspection.cautions,
    ]
    state = "note" if inspection.cautions else "ok  "
    name = " ".join(filter(None, (inspection.name, inspection.version)))
    return f"{state} {name}: {', '.join(traits)}"


def _of_protocol(behavior: Behavior) -> Iterator[str]:
    """The traits that only HTTP/1.1 has; for HTTP/2, its name."""
    if behavior.framing == "frames":
        yield "HTTP/2"
        return
    yield behavior.framing or "unanswered"
    yield f"head {behavior.head_bytes} B"
    yield "keep-alive" if behavior.keep_alive else "closes each connection"
    yield "close honored" if behavior.close_honored else "ignores Connection: close"
    yield f"HTTP/1.0 {behavior.http_1_0 or 'unanswered'}"
    yield f"HEAD {behavior.head or 'unanswered'}"
    yield f"{behavior.pipelined or 0} of 2 pipelined"


def summary(inspections: Sequence[Inspection]) -> str:
    """How many contenders are in each state, in the words with which their lines begin."""
    counts = Counter(inspection.state for inspection in inspections)
    words = {
        "works": "ok",
        "works, with a note": "note (works, with a shortfall)",
        "fails": "FAIL",
        "missing here": "lack (a tool or registry is missing here)",
    }
    parts = (f"{counts[state]} {word}" for state, word in words.items() if counts[state])
    return ", ".join(parts)


def served(inspection: Inspection) -> str:
    """How many of the connections got an answer at each level; a range if loads differ."""
    counts = []
    for level, least in inspection.served.items():
        most = inspection.served_most.get(level, least)
        counts.append(f"{least:,}" if most == least else f"{least:,}–{most:,}")
    return ", ".join(counts) or numbers.NONE


def server_pages(
    inspections: Sequence[Inspection], catalog: Catalog, name: str
) -> Mapping[str, str]:
    """Pages by path: `name`.md lists the servers; the folder `name` has one for each language."""
    shown = sorted(
        (
            _with_change(inspection, catalog.all_servers[inspection.server])
            for inspection in inspections
            if inspection.server in catalog.all_servers
        ),
        key=lambda row: (row.server, row.setting != "default", row.setting),
    )
    languages = grouped(shown, lambda row: catalog.all_servers[row.server].manifest.language)
    pages = {f"{name}.md": _index(shown, languages, catalog, name)}
    for language, of_language in languages.items():
        pages[f"{name}/{_slug(language)}.md"] = _language(language, of_language, catalog, name)
    table = _table(
        ("comparison", "row", "contender", "state", "differs"), _published(shown, catalog)
    )
    pages[f"{name}/published.md"] = f"{PUBLISHED.format(index=f'{name}.md')}\n\n{table}\n"
    return pages


def _with_change(inspection: Inspection, server: Server) -> Inspection:
    """With a caution if the folder now has another build, start or workload."""
    if inspection.fault is not None or inspection.lacks:
        return inspection
    is_here = inspection.setting in (*server.settings, *server.manifest.transports)
    if is_here and inspection.source_key == selection(server, inspection.setting).source_key:
        return inspection
    return replace(inspection, cautions=(*inspection.cautions, CHANGED))


def _index(
    shown: Sequence[Inspection],
    languages: Mapping[str, Sequence[Inspection]],
    catalog: Catalog,
    name: str,
) -> str:
    states = Counter(_state(inspection, catalog) for inspection in shown)
    counts = ((state, str(states[state]), meaning) for state, meaning in STATES.items())
    parts = [
        HEAD,
        f"{len({inspection.server for inspection in shown})} servers, {len(shown)} contenders:",
        _table(("state", "contenders", "that is"), counts),
        TABLE,
        f"[{name}/published.md]({name}/published.md) lists the rows of the published comparisons.",
    ]
    rows = (
        _family(language, languages[language], catalog, name)
        for language in sorted(languages, key=str.lower)
    )
    parts.append(_table(("language", "servers", "shortfalls"), rows, linked=2))
    return "\n\n".join(parts) + "\n"


def _family(
    language: str, inspections: Sequence[Inspection], catalog: Catalog, name: str
) -> Sequence[str]:
    """The row of a language: its servers with links, and its contenders with a shortfall."""
    page = f"{name}/{_slug(language)}.md"
    servers = dict.fromkeys(inspection.server for inspection in inspections)
    short = [row.name for row in inspections if _state(row, catalog) not in ("works", RECIPE)]
    return (
        f"[{escape(language)}]({page})",
        ", ".join(f"[{server}]({page}#{server})" for server in servers),
        ", ".join(short) or numbers.NONE,
    )


def _language(language: str, inspections: Sequence[Inspection], catalog: Catalog, name: str) -> str:
    parts = [f"# Servers in {language}", f"Generated with [{name}.md](../{name}.md)."]
    for server, settings in groupby(inspections, key=lambda inspection: inspection.server):
        parts += _server(catalog.all_servers[server], list(settings), catalog)
    questions = (text.replace("\n", " ") for text in QUESTIONS.values())
    header = ("server", "ready s", "idle MiB", *questions, "unknown path", "Date", "freeze", "stop")
    if rows := list(_behavior(inspections)):
        parts += [BEHAVIOR, _table(header, rows)]
    return "\n\n".join(parts) + "\n"


def _server(server: Server, contenders: Sequence[Inspection], catalog: Catalog) -> Iterator[str]:
    """Heading, notes and contenders of one server."""
    manifest = server.manifest
    yield f"## {server.name}"
    yield f"{escape(manifest.framework)} ({manifest.kind}), <{manifest.homepage}>"
    if manifest.notes:
        yield "\n".join(f"- {escape(_sentence(note))}" for note in manifest.notes)
    default = contenders[0]
    if _state(default, catalog) == RECIPE and manifest.verified:
        verified = escape(_sentence(manifest.verified))
        outcome = "[outcome](../results/upstream.json)"
        yield f"By hand ({outcome}): {verified} Not built here: {_fault(default)}."
    rows = (_contender(inspection, server, catalog) for inspection in contenders)
    yield _table(("contender", "version", "state", "served", "shortfall", "why this setting"), rows)


def _contender(inspection: Inspection, server: Server, catalog: Catalog) -> Sequence[str]:
    setting = server.manifest.settings.get(inspection.setting)
    state = _state(inspection, catalog)
    fault = inspection.fault if state != RECIPE else None
    return (
        inspection.name,
        inspection.version or numbers.NONE,
        state,
        served(inspection),
        one_line("; ".join(filter(None, [fault, *inspection.cautions]))) or numbers.NONE,
        numbers.NONE if setting is None else _sentence(setting.why),
    )


def _fault(inspection: Inspection) -> str:
    fault = inspection.fault or numbers.NONE
    for prefix in (f"{inspection.server} is left out: ", f"{inspection.server}: "):
        fault = fault.removeprefix(prefix)
    return escape(one_line(fault))


def _published(inspections: Sequence[Inspection], catalog: Catalog) -> Iterator[Sequence[str]]:
    contenders = {(inspection.server, inspection.setting): inspection for inspection in inspections}
    servers = catalog.all_servers.values()
    claims = grouped(
        ((server, row) for server in servers for row in server.manifest.published),
        lambda claim: (claim[1].protocol, claim[1].row),
    )
    for comparison in COMPARISONS:
        path = layered(catalog.root, f"published/{comparison}.csv")
        if not path.is_file():  # a catalog of the user's, without it
            continue
        for row in read_figures(path).rows:
            if (comparison, row) not in claims:
                yield comparison, row, numbers.NONE, "no server here", "see servers-missing.md"
            for server, published in claims.get((comparison, row), ()):
                inspection = contenders.get((server.name, published.setting))
                yield (
                    comparison,
                    row,
                    inspection.name if inspection else server.name,
                    _state(inspection, catalog) if inspection else "not verified",
                    "; ".join(published.differs),
                )


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
            numbers.mebibytes(inspection.idle_memory_bytes),
            *(answer(getattr(inspection.behavior, key)) for key in QUESTIONS),
            answer(inspection.behavior.unknown_path),
            answer(inspection.behavior.date),
            _freeze(inspection),
            inspection.stop or numbers.NONE,
        )


def _freeze(inspection: Inspection) -> str:
    if inspection.frozen_s is None:
        return numbers.NONE
    return "changed" if inspection.fault is not None else "unchanged"


def _state(inspection: Inspection, catalog: Catalog) -> str:
    """The state of the present folder: `RECIPE` if no registry here can install it."""
    if inspection.lacks and catalog.all_servers[inspection.server].manifest.verified:
        return RECIPE
    return STALE if CHANGED in inspection.cautions else inspection.state


def _sentence(text: str) -> str:
    text = one_line(text)
    return text if text.endswith((".", "…")) else f"{text}."


def _slug(language: str) -> str:
    """The language as a file name: `Node.js` is `node-js`, `C++` is `cpp`."""
    named = language.lower().replace("+", "p").replace("#", "-sharp")
    return re.sub(r"[^a-z0-9]+", "-", named).strip("-")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], *, linked: int = 0) -> str:
    """A Markdown table; the first `linked` cells of a row are links of ours, and stay."""
    escaped = ([*row[:linked], *map(escape, row[linked:])] for row in rows)
    return "\n".join(plain_table([header, *escaped]))


def review_markdown(
    name: str, version: str | None, machine: str, checks: Sequence[Check], log: str = ""
) -> str:
    """A heading with the verdict, a table with a row per check, and the log if one is given."""
    failed = [check for check in checks if check.passed is False]
    passed = sum(check.passed is True for check in checks)
    verdict = f"{len(failed)} failed" if failed else f"{passed} of {len(checks)} checks passed"
    lines = [
        f"### `deadheat verify --strict {name}`: {verdict}",
        "",
        f"{escape(name)} {escape(version or 'of unknown version')}, on {escape(machine)}",
        "",
        _table(
            ("check", "result", "reading"),
            ((check.rule, MARKS[check.passed], _short(check.reading)) for check in checks),
        ),
    ]
    if log:
        fenced = log.replace("```", "'''")
        summary = "<summary>the end of its log</summary>"
        lines += ["", f"<details>{summary}", "", "```", fenced, "```", "", "</details>"]
    lines += ["", "A reviewer also reads the application: `docs/rules.md` says what is fair."]
    return "\n".join(lines) + "\n"


def _short(reading: str) -> str:
    line = " ".join(reading.split())
    return line if len(line) <= READING_MAX else f"{line[: READING_MAX - 1]}…"
