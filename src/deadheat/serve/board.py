"""A board as static pages: servers by workloads, and a page per run, server and pair of servers."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deadheat import numbers
from deadheat.audit.audit import with_defects
from deadheat.edition.findings import Meeting, meetings_of, met_levels, share_text
from deadheat.edition.joined import join, part_of
from deadheat.edition.model import Edition, EditionPart, Figures, PartRun
from deadheat.errors import DeadheatError
from deadheat.foreign_text import one_line
from deadheat.report import wording
from deadheat.report.findings.analysis import analyze
from deadheat.report.formats import page as report_page
from deadheat.report.model.load import load_view_of
from deadheat.report.model.view import RunView
from deadheat.report.picture.card import draw_card, draw_versus
from deadheat.serve.heatmap import index_page
from deadheat.serve.markup import (
    Html,
    NumberCell,
    comparison_file,
    link,
    paragraph,
    preview_tags,
    run_file,
    server_file,
    server_link,
    slug,
    static_page,
    table,
    text,
)
from deadheat.serve.servers import Bootstrap, server_page
from deadheat.serve.top_picture import draw_top
from deadheat.store import Store, read_run

LISTS = (".deadheat-board", ".deadheat-site")  # the files of the last board in this folder
RUN_NAVIGATION = (
    '<body>\n<nav class="live" aria-label="board" style="max-width: 84rem; margin: 0 auto; '
    'padding: .75rem 1.5rem 0; font-size: .9rem"><a href="../index.html">All servers</a></nav>'
)
NEWEST = "newest"
Pair = tuple[str, str]
Png = Callable[[str], bytes]
ROOT = "../"


@dataclass(slots=True)
class BoardFolder:
    """The runs seen so far, and the files written. `url` is where the board will be published:
    link previews need an absolute address, so only with one there are pictures for them.

    `bootstrap` gives the lines that install and build a server, by the name of its folder.
    `repeat` is the command that writes this board.
    """

    folder: Path
    url: str | None = None
    png: Png | None = None
    bootstrap: Callable[[str], Bootstrap] = lambda _: Bootstrap()
    repeat: str = ""
    raced: dict[str, tuple[EditionPart, list[Meeting]]] = field(default_factory=dict)  # by run
    parts: dict[str, list[EditionPart]] = field(default_factory=dict)  # by edition
    cards: dict[Pair, tuple[PartRun, str]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    editions: list[Edition] = field(default_factory=list)  # the newest first, once finished

    def open(self) -> None:
        """Raises `DeadheatError` if the folder holds files that are not of a board."""
        lists = [self.folder / name for name in LISTS if (self.folder / name).exists()]
        if self.folder.exists() and not lists and any(self.folder.iterdir()):
            raise DeadheatError(
                f"--output {self.folder}: the folder is not empty, and it is no board",
                "choose a new folder",
            )
        for listed in lists:
            for name in listed.read_text(encoding="utf-8").split("\n"):
                old = (self.folder / name).resolve()
                if name and old.is_relative_to(self.folder.resolve()):
                    old.unlink(missing_ok=True)
            listed.unlink()
        self.folder.mkdir(parents=True, exist_ok=True)

    def add(self, store: Store, run_id: str, edition: str = NEWEST) -> None:
        """Write the page of a run of an edition, and keep what the other pages need."""
        of_edition = self.parts.setdefault(edition, [])
        if run_id in self.raced:  # of another edition, too
            if run_id not in [part.run.run_id for part in of_edition]:
                of_edition.append(self.raced[run_id][0])
            return
        stored = read_run(store, run_id)
        view = with_defects(store, load_view_of(stored, whole=True))
        part, analysis = part_of(view, stored.contenders), analyze(view)
        run = part.run
        levels = met_levels(view, run.main)
        of_edition.append(part)
        self.raced[run_id] = part, meetings_of(run, levels)
        image = self._picture(run_file(run_id), draw_card(view, analysis, ()))
        self._write(run_file(run_id), _run_page(view, run, image))
        # The card of a pair is that of its first meeting in `finish`: drawing all takes long.
        for each, _, pairs in levels:
            for pair in pairs:
                names = _pair((pair.first.contender.name, pair.second.contender.name))
                if names not in self.cards or self.cards[names][0].started_at < run.started_at:
                    self.cards[names] = (run, draw_versus(each, pair))

    def finish(self) -> Edition:
        """Write the other pages, and the list of all files; returns the newest edition.

        Raises `DeadheatError` if no run has a rate.
        """
        self.editions = self._editions()
        edition, *earlier = self.editions
        raced = sorted(self.raced.values(), key=lambda of: of[0].run.started_at, reverse=True)
        servers: defaultdict[str, list[Figures]] = defaultdict(list)
        meetings: defaultdict[Pair, list[Meeting]] = defaultdict(list)
        for part, of_run in raced:
            for level in part.levels:
                for name, figures in level.cells.items():
                    if figures.trials:
                        servers[name].append(figures)
            for meeting in of_run:
                meetings[_pair(meeting.names)].append(meeting)
        for pair, of_pair in meetings.items():
            self._comparison(pair, of_pair)
        opponents: defaultdict[str, list[tuple[Meeting, int]]] = defaultdict(list)
        for pair, of_pair in sorted(meetings.items()):
            runs = len({meeting.run.run_id for meeting in of_pair})
            for name in pair:
                opponents[name].append((of_pair[0], runs))
        everyone = {**dict.fromkeys(edition.servers), **dict.fromkeys(servers)}
        for name in everyone:
            facts = edition.servers.get(name)
            page = server_page(
                name,
                servers[name],
                opponents[name],
                facts,
                self.bootstrap(facts.server if facts else name),
            )
            self._write(server_file(name), page)
            self._write(f"badges/{slug(name)}.json", badge(edition, name))
        others = [name for name in everyone if name not in edition.servers]
        if (top := draw_top(edition)) is not None:
            self._write("index.svg", top)
        image = self._picture("index.html", top)
        self._write("index.html", index_page(edition, earlier, image, self.repeat, others))
        (self.folder / LISTS[0]).write_text("\n".join([*self.files, ""]), encoding="utf-8")
        return edition

    def _editions(self) -> list[Edition]:
        """The newest first."""
        editions = []
        for name, parts in self.parts.items():
            try:
                editions.append(join(name, parts))
            except ValueError as error:
                raise DeadheatError(
                    f"a board needs a run with rates, but {error}",
                    "race servers first: deadheat run 'go-*'",
                ) from error
        if not editions:
            raise DeadheatError(
                "a board needs a run, and there is none", "race servers: deadheat run"
            )
        rest = [each for each in editions if each.name != NEWEST]
        rest.sort(key=lambda each: each.newest.started_at, reverse=True)
        return [each for each in editions if each.name == NEWEST] + rest

    def _comparison(self, pair: Pair, meetings: list[Meeting]) -> None:
        name = comparison_file(*pair)
        _, card = self.cards[pair]
        image = self._picture(name, card)
        self._write(name, comparison_page(meetings, card, image))

    def _picture(self, page: str, card: str | None) -> str | None:
        """Write the card of a page as PNG; returns its address. None without a URL or a card."""
        if not (self.url and self.png and card):
            return None
        name = page.removesuffix(".html") + ".png"
        self._write(name, self.png(card))
        return f"{self.url.rstrip('/')}/{name}"

    def _write(self, name: str, content: str | bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self.files.append(name)
        with (self.folder / LISTS[0]).open("a", encoding="utf-8") as listed:
            listed.write(f"{name}\n")  # first: a board that is not finished can be written again
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def write_board(
    board: BoardFolder,
    runs: Iterable[tuple[Store, str]],
    earlier: Mapping[str, Iterable[tuple[Store, str]]] | None = None,
) -> Edition:
    """Write a board of the `runs`; each is read before the next one is asked for.

    `earlier` has older editions by name. Returns the edition of `runs`.
    """
    board.open()
    for name, several in {NEWEST: runs, **(earlier or {})}.items():
        for store, run_id in several:
            board.add(store, run_id, name)
    return board.finish()


def badge(edition: Edition, name: str) -> str:
    """A badge of a server, as shields.io reads one from an address: its place on each workload."""
    words: list[str] = []
    separates: list[float | None] = []
    for level in edition.levels:
        rows = level.ranking.rows if level.ranking else ()
        for row in rows:
            if row.name == name:
                separates.append(level.separates)
                share = share_text(row.ratio_to_leader.ratio)
                rank = f"place {row.rank} of {len(rows)}"
                words.append(f"{one_line(level.level.workload, 20)} {share} %, {rank}")
    message = words[0] if words else "not ranked"
    values = {
        "schemaVersion": 1,
        "label": one_line(name, 40),
        "message": message,
        "color": "0b62ad" if words else "59626b",
        "workloads": words,
        "separates": separates[0] if separates else None,  # on the workload of the message
        "measured": f"{edition.newest.started_at:%Y-%m-%d}",
    }
    return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


def _pair(names: Pair) -> Pair:
    first, second = sorted(names)
    return first, second


def _run_page(view: RunView, run: PartRun, image: str | None) -> str:
    """The report as one page, with a link to the index."""
    html = report_page.write(view, "--from FILE")
    tags = preview_tags(run.answer, f"{run.protocol}, {text(run.machine)}", image)
    return html.replace("<body>", RUN_NAVIGATION, 1).replace(
        '<link rel="icon"', f'{tags}\n<link rel="icon"', 1
    )


def comparison_page(meetings: Sequence[Meeting], card: str, image: str | None) -> str:
    """`meetings` with the newest first; `card` is its SVG, `image` the address of its PNG."""
    newest = meetings[0]
    names = sorted(newest.names)
    header = (
        "run",
        NumberCell("connections"),
        "verdict",
        *(NumberCell(f"{one_line(name, 30)}\nreq/s, p99 ms") for name in names),
        "machine",
    )
    links = " and of ".join(server_link(name, ROOT) for name in names)
    parts = [
        paragraph(newest.detail, "lead"),
        Html(f'<div class="card">{card}</div>'),
        table("Every run with both, the newest first", header, [_row(m, names) for m in meetings]),
        paragraph(Html(f"All runs of {links}.")),
    ]
    preview = preview_tags(newest.headline, newest.detail, image)
    return static_page(newest.headline, parts, ROOT, preview)


def _row(meeting: Meeting, names: Sequence[str]) -> tuple[object, ...]:
    figures = {
        name: f"{numbers.rate(rate)}, {numbers.milliseconds(p99_us)}"
        for name, rate, p99_us in zip(
            meeting.names, meeting.rates_per_s, meeting.p99_us, strict=True
        )
    }
    run = meeting.run
    return (
        link(f"{ROOT}{run_file(run.run_id)}", numbers.moment(run.started_at)),
        NumberCell(wording.load(meeting.level.workload, meeting.level.connections)),
        meeting.headline,
        *(NumberCell(figures[name]) for name in names),
        run.machine,
    )
