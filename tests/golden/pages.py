"""The words of pages: of `deadheat serve`, and of a report as HTML in a browser."""

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


def _page(kind: str, line: CommandLine) -> str:
    """The words of a report as HTML, as a browser shows them; blank lines left out."""
    browser, node = chromium_and_node()
    page = line.folder / "page.html"
    line.stdout("report", line.runs[kind], "--format", "html", "-o", str(page))
    command = (node, WEB / "test" / "text.js", browser, page)
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    lines = (shown.rstrip() for shown in done.stdout.splitlines())
    return line.scrubbed("".join(f"{shown}\n" for shown in lines if shown))


PAGES: dict[str, Output] = {
    "serve/listing.txt": partial(_served, "/runs"),
    "serve/index.txt": partial(_served, "/"),
    "serve/search.txt": partial(_served, "/?q=woo"),
    "serve/server.txt": partial(_served, "/servers/alpha"),
    "serve/missing.txt": partial(_served, "/runs/nothing"),
    "page/levels.txt": partial(_page, "levels"),
    "page/settle.txt": partial(_page, "settle"),
    "page/invalid.txt": partial(_page, "invalid"),
}
