"""HTML of the served pages. Only this module escapes foreign text."""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NO_SOURCES = "default-src 'none'"
SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'self'; \
img-src data:; base-uri 'none'; form-action 'self'">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/assets/site.css">
<title>{title}</title>
</head>
<body>
<header><a class="brand" href="/">deadheat</a></header>
<main>
<h1 dir="auto">{title}</h1>
{body}
</main>
</body>
</html>
"""


def policy(html_page: str) -> str:
    """The Content-Security-Policy of a page, with what only a header can say."""
    match = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html_page)
    return f"{match[1] if match else NO_SOURCES}; frame-ancestors 'none'"


class Html(str):
    """Text that is already markup."""

    __slots__ = ()


def text(value: object) -> Html:
    """Any value as HTML. Text that is not `Html` is escaped."""
    return value if isinstance(value, Html) else Html(html.escape(str(value)))


def link(path: str, words: object) -> Html:
    return Html(f'<a href="{html.escape(path)}">{text(words)}</a>')


@dataclass(frozen=True, slots=True)
class Number:
    """A right-aligned cell of a table or its header."""

    words: str


def table(caption: str, header: Sequence[object], rows: Iterable[Sequence[object]]) -> Html:
    head = "".join(_cell("th", cell, ' scope="col"') for cell in header)
    labels = [f' data-label="{text(_words(cell))}"' for cell in header]
    body = "".join(
        "<tr>"
        + "".join(
            _cell("td", cell, f' dir="auto"{label}')
            for cell, label in zip(row, labels, strict=True)
        )
        + "</tr>\n"
        for row in rows
    )
    whole = Html(
        f"<table><caption>{text(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>"
    )
    return wide(caption, whole)


def wide(label: str, content: Html) -> Html:
    """A region that scrolls if it does not fit, also by keyboard."""
    start = f'<div class="wide" tabindex="0" role="region" aria-label="{text(label)}">'
    return Html(f"{start}{content}</div>")


def _cell(tag: str, cell: object, attributes: str) -> str:
    if isinstance(cell, Number):
        attributes += ' class="number"'
    return f"<{tag}{attributes}>{text(_words(cell))}</{tag}>"


def _words(cell: object) -> object:
    return cell.words if isinstance(cell, Number) else cell


def page(title: str, *parts: Html) -> str:
    """A whole page."""
    return SHELL.format(title=text(title), body="\n".join(parts))


def message(error: str, hint: str | None, title: str = "Not found") -> str:
    """An error as a page."""
    hint_html = Html(f"<p>hint: {text(hint)}</p>") if hint else Html("")
    return page(title, Html(f"<p>{text(error)}</p>"), hint_html)
