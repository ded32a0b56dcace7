"""The words of pages: of `deadheat serve`, and of a report as HTML in a browser."""

import json
import subprocess
from functools import partial

from starlette.testclient import TestClient

from deadheat.serve.app import make_app
from tests.browser.programs import WEB, chromium_and_node
from tests.golden.command_line import CommandLine, Output
from tests.golden.markup import words_of

TIMEOUT_S = 120.0  # no page takes so long; a browser that hangs ends


def _served(path: str, line: CommandLine) -> str:
    """The words of a page of `deadheat serve`; those in braces are the ids of runs."""
    with TestClient(make_app(line.store), base_url="http://localhost") as client:
        return words_of(client.get(path.format(**line.runs)).text)


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
