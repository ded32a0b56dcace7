"""The index of a board: servers by workloads as one table, which its script sorts and filters.

Without the script it is a sorted table. The figures are in the table and, for the script, as JSON.
"""

import base64
import hashlib
import json
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deadheat import numbers
from deadheat.edition.findings import (
    changes,
    figure_values,
    older_text,
    outdated,
    separates_text,
    share_text,
    shown_figures,
    why_not,
)
from deadheat.edition.model import BoardLevel, Edition, ServerFacts
from deadheat.foreign_text import one_line
from deadheat.serve.markup import (
    FRAME,
    GENERATOR,
    Html,
    asset,
    link,
    preview_tags,
    run_file,
    server_file,
    server_link,
    text,
)
from deadheat.serve.servers import anchor, renders
from deadheat.stats.ranking.ranks import Pair, Row
from deadheat.stats.ranking.ratio import RatioInterval
from deadheat.strict import JsonObject
from deadheat.workload import Level

TITLE = "HTTP servers, compared"
ELSEWHERE = "(another machine)"
NAME_MAX = 40


def index_page(
    edition: Edition,
    earlier: Sequence[Edition],
    image: str | None = None,
    repeat: str = "",
    others: Sequence[str] = (),
    served: bool = False,
) -> str:
    """The page; `earlier` has older editions, the newest first, and `repeat` how to write it.

    `others` names servers that have a page and are not in the edition. A page that is `served` has
    a link to the list of all runs.
    """
    names = _order(edition)
    about = separates_text(edition.levels)
    count = numbers.count(len(names), "server")
    description = f"{count} on {numbers.count(len(edition.levels), 'workload')}. {about}"
    runs = ' · <a href="/runs">All runs</a>' if served else ""
    style, script = asset("site.css") + asset("board.css"), asset("board.js").strip()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    data = _json(_data(edition, names, earlier))
    return FRAME.format(
        styles=f"'unsafe-inline'; script-src 'sha256-{digest}'",
        forms="'none'",
        head=f"{GENERATOR}\n{preview_tags(TITLE, description, image)}\n<style>{style}</style>",
        title=TITLE,
        header=f'<nav aria-label="deadheat"><span class="brand">deadheat</span>{runs}</nav>',
        body="\n".join(_body(edition, names, earlier, repeat, others)),
        scripts=f'<script type="application/json" id="data">{data}</script>\n'
        f"<script>{script}</script>\n",
    )


def _json(values: Any) -> str:
    """JSON that cannot end the element that it is in."""
    return json.dumps(values, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _order(edition: Edition) -> list[str]:
    """The servers in the order of the first workload; then those without a rank there, by name."""
    places: dict[str, tuple[int, float]] = {}
    for column, level in enumerate(edition.levels):
        for place, row in enumerate(level.ranking.rows if level.ranking else ()):
            places.setdefault(row.name, (column, place))
    last = (len(edition.levels), 0)
    return sorted(edition.servers, key=lambda name: (*places.get(name, last), name))


def _body(
    edition: Edition,
    names: Sequence[str],
    earlier: Sequence[Edition],
    repeat: str,
    others: Sequence[str],
) -> Iterable[Html]:
    newest = edition.newest
    yield Html(f'<p class="lead"><strong>{text(separates_text(edition.levels))}</strong></p>')
    runs = numbers.count(len(edition.runs), "run")
    machine, date = text(newest.machine), f"{newest.started_at:%Y-%m-%d}"
    has_older = any(level.older for level in edition.levels)
    older = " A cell with † is of an older build than its row; open it." if has_older else ""
    yield Html(f'<p class="facts">{date}, {runs} of {text(newest.protocol)} on {machine}.</p>')
    yield Html(
        '<p class="facts">Each figure is a rate in % of the best server on that workload, beside '
        "the places that the data allow. A brace holds servers in a dead heat: their order is "
        f"not known. A dash has a reason; open it.{older}</p>"
    )
    for each in earlier:
        if where := edition.elsewhere(each):
            yield Html(
                f'<p class="facts"><strong>{text(each.name)} is of another machine</strong>: '
                f"{text(where)}. A change since then may be one of the machine.</p>"
            )
    yield Html(_controls(edition, earlier))
    yield Html('<p id="count" class="facts" role="status"></p>')
    yield _table(edition, names)
    yield Html('<dialog id="cell" aria-labelledby="cell-title"></dialog>')
    yield _about(edition, earlier, repeat, others)


def _controls(edition: Edition, earlier: Sequence[Edition]) -> str:
    """The reader's choices; shown by the script."""

    def choice(name: str, label: str, options: Iterable[tuple[str, str]]) -> str:
        inside = "".join(
            f'<option value="{text(value)}">{text(words)}</option>' for value, words in options
        )
        return f'<label>{label} <select id="{name}">{inside}</select></label>'

    facts = edition.servers.values()
    languages = sorted({each.language for each in facts}, key=str.lower)
    kinds = sorted({each.kind for each in facts if each.kind})
    workloads = [level.level.workload for level in edition.levels]
    parts = [
        '<label>name <input id="name" type="search" autocomplete="off"></label>',
        choice("language", "language", [("", "all"), *((each, each) for each in languages)]),
        choice("kind", "kind", [("", "all"), *((each, each) for each in kinds)]),
        choice(
            "versions", "versions", [("", "all"), ("current", "current"), ("outdated", "outdated")]
        ),
        choice("of", "figures of", [(each, each) for each in workloads]),
    ]
    if earlier:
        options = [("", "none")]
        for i, each in enumerate(earlier):
            mark = f" {ELSEWHERE}" if edition.elsewhere(each) else ""
            options.append((str(i), f"{each.name}{mark}"))
        parts.append(choice("before", "changes since", options))
    weights = "".join(
        f'<label>{text(each)} <input class="weight" data-workload="{i}" type="number" min="0" '
        'max="1000" step="1" value="0"></label>'
        for i, each in enumerate(workloads)
    )
    return (
        f'<form id="choices" hidden><fieldset><legend>Filter</legend>{"".join(parts)}</fieldset>'
        '<fieldset><legend>Does it matter?</legend><label for="own">my own work per request</label>'
        '<input id="own" type="range" min="0" max="100" step="1" value="0">'
        '<output id="own-text" for="own">none</output></fieldset>'
        "<details><summary>Your mix of requests</summary><p>How many requests of each workload "
        "your application gets. The column <i>your mix</i> then has the rate of this mix.</p>"
        f'<div class="weights">{weights}</div></details>'
        '<p class="buttons"><button type="button" id="reset">reset</button> '
        '<button type="button" id="copy">copy the link</button></p></form>'
    )


def _table(edition: Edition, names: Sequence[str]) -> Html:
    braces = _braces(edition.levels[0])
    ranked = [
        {row.name: row for row in level.ranking.rows} if level.ranking else {}
        for level in edition.levels
    ]
    old = outdated(edition.servers)
    lines = []
    for place, name in enumerate(names):
        heat = [
            _cell(level, rows.get(name), name, braces.get(name, "") if i == 0 else "")
            for i, (level, rows) in enumerate(zip(edition.levels, ranked, strict=True))
        ]
        cells = [*_name_cells(edition.servers[name]), *heat, *_figure_cells(edition, name)]
        cells.append(_version_cell(edition.servers[name], old.get(name)))
        lines.append(f'<tr data-row="{place}">{"".join(cells)}</tr>')
    connections = {level.level.connections for level in edition.levels}
    at = (
        numbers.count(connections.pop(), "connection")
        if len(connections) == 1
        else ", ".join(str(level.level) for level in edition.levels)
    )
    caption = f"Rates in % of the best, at {at}"
    return Html(
        f'<div class="wide" tabindex="0" role="region" aria-label="servers by workloads">'
        f'<table id="board"><caption>{text(one_line(caption, 300))}</caption>'
        f"<thead><tr>{''.join(_heads(edition))}</tr></thead>\n<tbody>\n"
        + "\n".join(lines)
        + "\n</tbody></table></div>"
    )


def _heads(edition: Edition) -> Iterable[str]:
    yield '<th scope="col" data-sort="name" class="name">server</th>'
    yield '<th scope="col" data-sort="mix" class="mix" hidden>your mix</th>'
    for i, level in enumerate(edition.levels):
        at = text(str(level.level))
        yield (
            f'<th scope="col" data-sort="{i}" class="heat" title="{at}">'
            f"{text(one_line(level.level.workload, 20))}</th>"
        )
    for key, heading, title in shown_figures(edition):
        yield (
            f'<th scope="col" data-sort="{key}" class="figure" title="{text(title)}">{heading}</th>'
        )
    yield '<th scope="col" data-sort="version" class="version">version</th>'


def _name_cells(facts: ServerFacts) -> list[str]:
    return [
        f'<th scope="row" class="name"><a href="{server_file(facts.name)}" dir="auto">'
        f"{text(one_line(facts.name, NAME_MAX))}</a>"
        f'<span class="language" dir="auto">{text(one_line(facts.language, 20))}</span></th>',
        '<td class="mix" data-label="your mix" hidden></td>',
    ]


def _figure_cells(edition: Edition, name: str) -> Iterable[str]:
    """Those of the first workload."""
    figures = figure_values(edition, name, edition.levels[0])
    for key, heading, _ in shown_figures(edition):
        value = figures[key]
        shown = numbers.NONE if value is None else numbers.figure(value)
        yield f'<td class="figure" data-label="{heading}">{shown}</td>'


def _version_cell(facts: ServerFacts, newer: str | None) -> str:
    marks = []
    if newer is not None:
        title = text(f"the board has {one_line(newer, 30)}")
        marks.append(f'<span class="old" title="{title}">outdated</span>')
    if facts.ended:
        days = ", ".join(f"{one_line(line)} until {day}" for line, day in facts.ended.items())
        marks.append(f'<span class="old" title="supported: {text(days)}">unsupported</span>')
    words = " ".join([text(one_line(facts.version or numbers.NONE, 24)), *marks])
    return f'<td class="version" data-label="version" dir="auto">{words}</td>'


def _cell(level: BoardLevel, row: Row | None, name: str, brace: str) -> str:
    label = f'data-label="{text(one_line(level.level.workload, 20))}"'
    href = f"{server_file(name)}#{anchor(level.level.workload)}"
    css = f"heat {brace}".strip()
    if row is None:
        reason = text(one_line(why_not(level, name), 120))
        return (
            f'<td class="{css} none" {label}><a href="{href}" title="{reason}">–'
            f'<span class="hidden"> {reason}</span></a></td>'
        )
    share = row.ratio_to_leader.ratio
    older = older_text(level, name)
    css, title = (css, "") if older is None else (f"{css} older", f' title="{text(older)}"')
    return (
        f'<td class="{css}" style="--s:{min(share, 1):.3f}" {label}><a href="{href}"{title}>'
        f"<b>{share_text(share)}</b><small>{row.rank.replace('-', '–')}</small></a></td>"
    )


def _braces(level: BoardLevel) -> dict[str, str]:
    """The class of each cell in a dead heat, in the order of the level."""
    if level.ranking is None:
        return {}
    css = {}
    for group in level.ranking.dead_heats:
        for i, name in enumerate(group):
            css[name] = (
                "brace-first" if i == 0 else "brace-last" if i == len(group) - 1 else "brace"
            )
    return css


def _data(edition: Edition, names: Sequence[str], earlier: Sequence[Edition]) -> JsonObject:
    """What the script needs: rows in the order of the table, cells as lists of numbers."""
    places = {name: place for place, name in enumerate(names)}
    old = outdated(edition.servers)
    figures = [
        {name: figure_values(edition, name, level) for name in names} for level in edition.levels
    ]
    return {
        "margin": edition.newest.margin,
        "workloads": [level.level.workload for level in edition.levels],
        "anchors": [anchor(level.level.workload) for level in edition.levels],
        "runs": [[run.run_id, run_file(run.run_id)] for run in edition.runs],
        "servers": [
            [
                one_line(name, NAME_MAX),
                edition.servers[name].language,
                edition.servers[name].kind,
                one_line(edition.servers[name].version, 40),
                old.get(name),
                server_file(name),
                _round(figures[0][name]["cold"]),
                edition.servers[name].head_bytes,
                one_line(renders(edition.servers[name]), 80),
            ]
            for name in names
        ],
        "cells": [
            _column(edition, level, of_level, places)
            for level, of_level in zip(edition.levels, figures, strict=True)
        ],
        "costs": [[_round(of_level[name]["cost"]) for name in names] for of_level in figures],
        "before": [
            [each.name, [_changes(changes_by_level, level, names) for level in edition.levels]]
            for each in earlier
            for changes_by_level in [changes(each, edition)]
        ],
    }


def _round(value: float | None) -> float | None:
    """Few digits, and null for what is unknown or not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.5g}")


def _column(
    edition: Edition,
    level: BoardLevel,
    figures_of: Mapping[str, Mapping[str, float | None]],
    places: Mapping[str, int],
) -> list[list[Any] | None]:
    """For each server its rate, share, interval, places, group, figures, neighbors and checks."""
    ranking = level.ranking
    rows = {row.name: (i, row) for i, row in enumerate(ranking.rows)} if ranking else {}
    groups = (
        {name: i for i, group in enumerate(ranking.dead_heats) for name in group} if ranking else {}
    )
    runs = {run.run_id: i for i, run in enumerate(edition.runs)}
    column: list[list[Any] | None] = []
    for name, shown in figures_of.items():
        if name not in level.cells:
            column.append(None)
            continue
        figures = level.cells[name]
        place, row = rows.get(name, (0, None))
        column.append(
            [
                _round(row.rate_median if row else figures.rate_per_s),
                *(_with_ends(row.ratio_to_leader) if row else (None, None, None)),
                [row.rank_low, row.rank_high] if row else None,
                groups.get(name),
                *(_round(shown[key]) for key in ("cpu", "p99", "memory")),
                [figures.valid, figures.trials],
                None if row else one_line(why_not(level, name), 200),
                [[each.code, each.trials, one_line(each.advice, 160)] for each in figures.checks],
                runs[figures.run.run_id],
                [
                    _verdict(ranking.neighbors[at], name, places)
                    for at in (place - 1, place)
                    if ranking and row and 0 <= at < len(ranking.neighbors)
                ],
                older_text(level, name),
            ]
        )
    return column


def _with_ends(ratio: RatioInterval) -> tuple[float | None, float | None, float | None]:
    """A ratio and its interval, whose ends are null if it is unknown."""
    known = numbers.is_known(ratio.low, ratio.high)
    low, high = (ratio.low, ratio.high) if known else (None, None)
    return _round(ratio.ratio), _round(low), _round(high)


def _verdict(pair: Pair, name: str, places: Mapping[str, int]) -> list[Any]:
    """A neighbor, whether it is the faster one, the verdict, and the ratio with its interval."""
    other = pair.slower if pair.faster == name else pair.faster
    is_faster = int(pair.faster == other)
    return [places[other], is_faster, pair.verdict.value, *_with_ends(pair.ratio)]


def _changes(
    changes_by_level: Mapping[Level, Mapping[str, Any]], level: BoardLevel, names: Sequence[str]
) -> list[list[float | None] | None]:
    of_level = changes_by_level.get(level.level, {})
    return [
        [_round(change.ratio), _round(change.low), _round(change.high)]
        if (change := of_level.get(name))
        else None
        for name in names
    ]


def _about(
    edition: Edition, earlier: Sequence[Edition], repeat: str, others: Sequence[str]
) -> Html:
    runs = "".join(
        f"<li>{link(run_file(run.run_id), numbers.moment(run.started_at))} "
        f"<code>{text(one_line(shlex.join(run.command), 400))}</code></li>"
        for run in edition.runs
    )
    left = "".join(
        f"<li>{link(run_file(run), run)}: {text(one_line(why, 200))}</li>"
        for run, why in edition.left_out.items()
    )
    older = "".join(
        f"<li>{text(each.name)}: {link(run_file(run.run_id), numbers.moment(run.started_at))}</li>"
        for each in earlier
        for run in each.runs
    )
    links = ", ".join(server_link(name) for name in others)
    separates = "".join(
        f"<li>{text(level.level.workload)} at "
        f"{numbers.count(level.level.connections, 'connection')}: "
        f"{numbers.percent(level.separates) if level.separates else numbers.UNKNOWN}</li>"
        for level in edition.levels
    )
    confidence = numbers.percent(edition.newest.confidence, 0)
    return Html(
        '<section class="about"><h2>How to repeat it</h2>'
        f"<ul>{runs}</ul><p><code>{text(repeat)}</code></p>"
        + (f"<h3>Runs that were left out</h3><ul>{left}</ul>" if left else "")
        + (f"<h3>Older editions</h3><ul>{older}</ul>" if older else "")
        + (f"<h3>Servers of other runs</h3><p>{links}</p>" if links else "")
        + "<h2>How to read it</h2>"
        f"<p>All intervals of a workload hold together at {confidence}. Two servers are separated "
        "if the interval of their ratio leaves out 1. A run detects these differences with 80 % "
        f"power:</p><ul>{separates}</ul>"
        "<p>With own work, each request takes the server's CPU time and yours. The rate of a mix "
        "is that of its requests one after another. There is no score: the weights are yours.</p>"
        "</section>"
    )
