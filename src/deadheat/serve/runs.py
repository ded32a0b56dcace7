"""The first page: every run, and a search over them where it is served."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.report import wording
from deadheat.report.model.runs import list_runs, state_text
from deadheat.serve.entries import Entry, Figures
from deadheat.serve.markup import (
    Html,
    NumberCell,
    heading,
    link,
    names_list,
    page,
    paragraph,
    preview_tags,
    run_file,
    server_link,
    static_page,
    table,
    text,
)
from deadheat.store import Store
from deadheat.store.listing import RunSummary, contender_names

HEADER = ("run", "started", "state", "protocol", "contenders", NumberCell("trials"))
NAMES_MAX = 6
INDEX_HEADER = ("run", "answer", "protocol", NumberCell("servers"), NumberCell("connections"))
ABOUT = (
    "Each run is stored whole. A page shows its ranking, its failed checks and its method. "
    "A rank is an interval; servers that the data cannot separate are in a dead heat."
)


def listing_page(store: Store, wanted: str) -> str:
    """The served page: runs whose id, protocol, state, date or names have all words of `wanted`."""
    names = contender_names(store)
    runs = [
        run
        for run in list_runs(store)
        if not run.is_empty and _matches(run, names.get(run.run_id, []), wanted)
    ]
    rows = [
        (
            link(f"/runs/{run.run_id}", run.run_id),
            numbers.moment(run.started_at),
            state_text(run),
            one_line(run.protocol, 40),
            _links(names.get(run.run_id, [])),
            NumberCell(f"{run.trials:,}"),
        )
        for run in runs
    ]
    count = numbers.count(len(runs), "run")
    return page(
        "Runs",
        _search(wanted),
        table(f"{count} that match" if wanted else f"{count}, the newest first", HEADER, rows),
    )


def index_page(entries: Sequence[Entry], servers: Mapping[str, Sequence[Figures]]) -> str:
    """That of a gallery: `entries` with the newest first; `servers` by name."""
    rows = [
        (
            link(run_file(entry.run.run_id), numbers.moment(entry.run.started_at)),
            _answer(entry),
            one_line(entry.run.protocol, 40),
            NumberCell(str(len({figures.name for figures in entry.figures}))),
            NumberCell(
                wording.load(entry.run.level.workload, entry.run.level.connections)
                if entry.run.level
                else numbers.NONE
            ),
        )
        for entry in entries
    ]
    count = numbers.count(len(entries), "run")
    parts = [
        paragraph(ABOUT, "lead"),
        table(f"{count}, the newest first", INDEX_HEADER, rows),
        heading("Servers"),
        paragraph("The page of a server shows its runs, and compares it with each other server."),
        *_by_language(servers),
    ]
    title = "Results of deadheat"
    preview = preview_tags(title, f"{count} of HTTP servers, compared.")
    return static_page(title, parts, preview=preview)


def _matches(run: RunSummary, names: Sequence[str], wanted: str) -> bool:
    words = " ".join([run.run_id, run.protocol, run.state, numbers.moment(run.started_at), *names])
    return all(word in words.lower() for word in wanted.lower().split())


def _links(names: Sequence[str]) -> Html:
    links = [link(f"/servers/{quote(name)}", one_line(name, 40)) for name in names[:NAMES_MAX]]
    more = [text(f"and {len(names) - NAMES_MAX} more")] if len(names) > NAMES_MAX else []
    return Html(", ".join([*links, *more]))


def _search(wanted: str) -> Html:
    return Html(
        '<form role="search"><label for="q">Search runs, servers, protocols</label> '
        f'<input id="q" name="q" type="search" value="{text(wanted)}"> '
        "<button>Search</button></form>"
    )


def _answer(entry: Entry) -> str:
    state = "" if entry.run.state == "complete" else f" ({entry.run.state})"
    return one_line(f"{entry.run.answer}{state}")


def _by_language(servers: Mapping[str, Sequence[Figures]]) -> list[Html]:
    by_language: dict[str, list[str]] = {}
    for name, figures in servers.items():
        by_language.setdefault(figures[0].language or "other", []).append(name)
    parts = []
    for language in sorted(by_language):
        links = [server_link(name) for name in sorted(by_language[language])]
        parts += [Html(f"<h3>{text(one_line(language, 40))}</h3>"), names_list(links)]
    return parts
