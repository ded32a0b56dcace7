"""HTML of all pages, served or static: frame, tables, links. Only here foreign text is escaped."""

import hashlib
import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from deadheat.foreign_text import one_line

NO_SOURCES = "default-src 'none'"
FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src {styles}; \
img-src data:; base-uri 'none'; form-action {forms}">
<link rel="icon" href="data:,">
{head}
<title>{title}</title>
</head>
<body>
<header>{header}</header>
<main>
<h1 dir="auto">{title}</h1>
{body}
</main>
{scripts}</body>
</html>
"""
GENERATOR = '<meta name="generator" content="deadheat board">'
NAME_MAX = 60
MORE_STYLE = """
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: baseline; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.card { max-width: 46rem; border: 1px solid var(--line); }
.card svg { display: block; width: 100%; height: auto; }
td:nth-child(2) { white-space: normal; }
.lead { font-size: 1.05rem; max-width: 48rem; }
.names { columns: 14rem; padding: 0; list-style: none; margin: .3rem 0; overflow-wrap: anywhere; }
h3 { margin: .8rem 0 0; overflow-wrap: anywhere; }
pre { margin: .2rem 0; padding: .5rem .75rem; background: var(--raised); font-size: .85rem; }
summary { cursor: pointer; }
@media print { nav { display: none; } .wide { overflow: visible; } }
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
class NumberCell:
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
    if isinstance(cell, NumberCell):
        attributes += ' class="number"'
    return f"<{tag}{attributes}>{text(_words(cell))}</{tag}>"


def _words(cell: object) -> object:
    return cell.words if isinstance(cell, NumberCell) else cell


def page(title: str, *parts: Html) -> str:
    """A whole page, served."""
    return FRAME.format(
        styles="'self'",
        forms="'self'",
        head='<link rel="stylesheet" href="/assets/site.css">',
        title=text(title),
        header='<a class="brand" href="/">deadheat</a>',
        body="\n".join(parts),
        scripts="",
    )


def message(error: str, hint: str | None, title: str = "Not found") -> str:
    """An error as a page."""
    hint_html = Html(f"<p>hint: {text(hint)}</p>") if hint else Html("")
    return page(title, Html(f"<p>{text(error)}</p>"), hint_html)


def asset(name: str) -> str:
    """A style or a script of this package."""
    return files("deadheat.serve").joinpath(name).read_text(encoding="utf-8")


def static_page(title: str, parts: Sequence[Html], root: str, preview: Html) -> str:
    """A whole page of a board; `root` leads from its folder to that of the index."""
    style = asset("site.css") + MORE_STYLE
    index = f"{root}index.html"
    return FRAME.format(
        styles="'unsafe-inline'",
        forms="'none'",
        head=f"{GENERATOR}\n{preview}\n<style>{style}</style>",
        title=text(title),
        header=f'<nav aria-label="board"><a class="brand" href="{index}">deadheat</a>'
        f' · <a href="{index}">All servers</a></nav>',
        body="\n".join(parts),
        scripts="",
    )


def preview_tags(title: str, description: str = "", image: str | None = None) -> Html:
    """What a link preview shows (Open Graph). `image` is an absolute address."""
    tags = {"og:type": "article", "og:site_name": "deadheat", "og:title": title}
    if description:
        tags["og:description"] = description
    if image:
        tags |= {"og:image": image, "og:image:width": "1200", "og:image:height": "630"}
        tags["twitter:card"] = "summary_large_image"
    return Html(
        "\n".join(
            f'<meta property="{name}" content="{text(one_line(value))}">'
            for name, value in tags.items()
        )
    )


def heading(words: str) -> Html:
    return Html(f"<h2>{text(words)}</h2>")


def paragraph(words: object, css: str = "") -> Html:
    attribute = f' class="{css}"' if css else ""
    return Html(f'<p{attribute} dir="auto">{text(words)}</p>')


def slug(name: str) -> str:
    """A file name for a contender. Names that differ have different ones, also without case."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", name.lower())[:NAME_MAX].strip(".-")
    if plain and plain == name:
        return plain
    return f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}".lstrip("-")


def run_file(run_id: str) -> str:
    return f"runs/{slug(run_id)}.html"


def server_file(name: str) -> str:
    return f"servers/{slug(name)}.html"


def comparison_file(a: str, b: str) -> str:
    """The same file for both orders."""
    first, second = sorted((a, b))
    return f"comparisons/{slug(first)}--{slug(second)}.html"


def server_link(name: str, root: str = "") -> Html:
    return link(f"{root}{server_file(name)}", one_line(name, 60))
