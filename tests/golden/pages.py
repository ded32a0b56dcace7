"""The words of pages: of `deadheat serve`, and of a report as HTML in a browser."""

import json
import subprocess
from functools import partial
from html.parser import HTMLParser

from starlette.testclient import TestClient

from deadheat.serve.app import make_app
from tests.browser.programs import WEB, chromium_and_node
from tests.golden.command_line import CommandLine, Output

TIMEOUT_S = 120.0  # no page takes so long; a browser that hangs ends
UNREAD = ("script", "style", "title")
LINES = ("h1", "h2", "h3", "p", "tr", "caption", "li", "form", "figure", "header", "nav", "text")
CELLS = ("td", "th")


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[list[str]] = [[""]]  # cells of each line
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unread += tag in UNREAD
        if tag in LINES:
            self.lines.append([""])
        elif tag in CELLS:
            self.lines[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in UNREAD

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self.lines[-1][-1] += data


def _words_of(html: str) -> str:
    """A line for each heading, paragraph and row; cells apart by two spaces."""
    reader = _Words()
    reader.feed(html)
    lines = ([" ".join(cell.split()) for cell in line] for line in reader.lines)
    return "".join("  ".join(filter(None, line)) + "\n" for line in lines if any(line))


def _served(path: str, line: CommandLine) -> str:
    """The words of a page of `deadheat serve`; those in braces are the ids of runs."""
    with TestClient(make_app(line.store), base_url="http://localhost") as client:
        return _words_of(client.get(path.format(**line.runs)).text)


KINDS = ("levels", "settle", "invalid")
_pages: dict[str, str] = {}  # by kind: one browser shows them all


def _page(kind: str, line: CommandLine) -> str:
    """The words of a report as HTML, as a browser shows them; blank lines left out."""
    if not _pages:
        browser, node = chromium_and_node()
        paths = [line.folder / f"{each}.html" for each in KINDS]
        for each, path in zip(KINDS, paths, strict=True):
            line.stdout("report", line.runs[each], "--format", "html", "-o", str(path))
        command = [node, str(WEB / "test" / "text.js"), browser, *map(str, paths)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        for each, text in zip(KINDS, json.loads(done.stdout), strict=True):
            lines = (shown.rstrip() for shown in text.splitlines())
            _pages[each] = line.scrubbed("".join(f"{shown}\n" for shown in lines if shown))
    return _pages[kind]


PAGES: dict[str, Output] = {
    "serve/listing.txt": partial(_served, "/runs"),
    "serve/index.txt": partial(_served, "/"),
    "serve/search.txt": partial(_served, "/?q=woo"),
    "serve/server.txt": partial(_served, "/servers/alpha"),
    "serve/missing.txt": partial(_served, "/runs/nothing"),
    **{f"page/{kind}.txt": partial(_page, kind) for kind in KINDS},
}
