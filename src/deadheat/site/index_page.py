"""The first page of the gallery: the runs with their answers, and all servers."""

from collections.abc import Mapping, Sequence

from deadheat import numbers
from deadheat.foreign_text import one_line
from deadheat.report import wording
from deadheat.serve.markup import Html, Number, link, table, text
from deadheat.site.entry import Entry, Figures
from deadheat.site.shell import (
    heading,
    names_list,
    page,
    paragraph,
    preview_tags,
    run_file,
    server_link,
)

HEADER = ("run", "answer", "protocol", Number("servers"), Number("connections"))
ABOUT = (
    "Each run is stored whole. A page shows its ranking, its failed checks and its method. "
    "A rank is an interval; servers that the data cannot separate are in a dead heat."
)


def index_page(entries: Sequence[Entry], servers: Mapping[str, Sequence[Figures]]) -> str:
    """`entries` with the newest first; `servers` by name."""
    rows = [
        (
            link(run_file(entry.run.run_id), numbers.moment(entry.run.started_at)),
            _answer(entry),
            one_line(entry.run.protocol, 40),
            Number(str(len({figures.name for figures in entry.figures}))),
            Number(
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
        table(f"{count}, the newest first", HEADER, rows),
        heading("Servers"),
        paragraph("The page of a server shows its runs, and compares it with each other server."),
        *_by_language(servers),
    ]
    title = "Results of deadheat"
    return page(title, parts, preview=preview_tags(title, f"{count} of HTTP servers, compared."))


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
