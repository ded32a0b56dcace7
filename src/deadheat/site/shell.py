"""The frame of every page of the gallery, and the names of its files."""

import hashlib
import re
from importlib.resources import files

from deadheat.foreign_text import one_line
from deadheat.serve.markup import Html, link, text

NAME_MAX = 60
GENERATOR = '<meta name="generator" content="deadheat site">'
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
MORE_STYLE = """
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; align-items: baseline; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
.card { max-width: 46rem; border: 1px solid var(--line); }
.card svg { display: block; width: 100%; height: auto; }
td:nth-child(2) { white-space: normal; }
.lead { font-size: 1.05rem; max-width: 48rem; }
.names { columns: 14rem; padding: 0; list-style: none; margin: .3rem 0; overflow-wrap: anywhere; }
h3 { margin: .8rem 0 0; overflow-wrap: anywhere; }
@media print { nav { display: none; } .wide { overflow: visible; } }
"""
FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
{generator}
{preview}
<link rel="icon" href="data:,">
<style>{style}</style>
<title>{title}</title>
</head>
<body>
<header><nav aria-label="gallery"><a class="brand" href="{root}index.html">deadheat</a>{index}</nav>
</header>
<main>
<h1 dir="auto">{title}</h1>
{body}
</main>
</body>
</html>
"""


def page(title: str, parts: list[Html], *, root: str = "", preview: Html | None = None) -> str:
    """A whole page; `root` leads from its folder to that of the index."""
    style = files("deadheat.serve").joinpath("site.css").read_text(encoding="utf-8") + MORE_STYLE
    return FRAME.format(
        policy=POLICY,
        generator=GENERATOR,
        preview=preview if preview is not None else preview_tags(title),
        style=style,
        root=root,
        index=f' · <a href="{root}index.html">All runs</a>' if root else "",
        title=text(title),
        body="\n".join(parts),
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


def names_list(items: list[Html]) -> Html:
    return Html('<ul class="names">' + "".join(f"<li>{item}</li>" for item in items) + "</ul>")


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
