"""The report as one HTML file: the page of `web/` with the JSON document inside.

The document is packed (gzip, base64): the file's markup contains no foreign text, and sixty servers
with all their series stay small. The page's script unpacks it. Without scripts the page shows the
terminal's report.
"""

import base64
import gzip
import html
import re
from pathlib import Path

from deadheat.console import console as make_console
from deadheat.errors import DeadheatError
from deadheat.foreign_text import one_line
from deadheat.report.formats import json_document, terminal
from deadheat.report.model.view import RunView

PAGE = Path(__file__).with_name("page.html")
PLAIN_WIDTH = 100
GZIP_LEVEL = 6  # 9 takes three times as long for 3 % fewer bytes


def write(view: RunView, source: str | None = None) -> str:
    """The page with this run. The same run gives the same bytes."""
    text = json_document.write(view, indent=None, source=source)
    packed = gzip.compress(text.encode(), GZIP_LEVEL, mtime=0)
    return fill(
        title=one_line(f"{view.protocol.name} {view.run_id} – deadheat"),
        plain=terminal.shown(make_console(width=PLAIN_WIDTH, styled=False), view, source),
        document=base64.b64encode(packed).decode(),
    )


def fill(title: str, plain: str = "", document: str = "") -> str:
    """The page; without a document it waits for one. Raises `DeadheatError` if it is not built."""
    try:
        page = PAGE.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DeadheatError(
            f"the page is not built: there is no {PAGE.name} in {PAGE.parent}",
            "in a checkout, with Node.js 20 or newer: make page; or take another --format",
        ) from error
    texts = {"{title}": title, "{plain}": plain, "{document}": document}
    # Each occurs once before the script, which may contain the same words in braces.
    return re.sub("|".join(texts), lambda match: html.escape(texts[match[0]]), page, count=3)
