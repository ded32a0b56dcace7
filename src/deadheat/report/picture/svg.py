"""SVG as text: a few shapes on white, the footer of every picture, and PNG made from it by resvg.

The colors are such that color-blind readers can distinguish them.
"""

import colorsys
import html
import importlib
import textwrap
from collections.abc import Sequence

from deadheat import numbers
from deadheat.errors import DeadheatError
from deadheat.foreign_text import LINE_MAX, one_line
from deadheat.report import wording
from deadheat.report.findings.analysis import Analysis
from deadheat.report.model.view import RunView
from deadheat.workload import HELLO

WIDTH = 860
STEP = 16  # line height of small text
HATCH = 6.0  # pixels between the lines of a hatched bar
FADE = 8  # parts of a line that fades out
TITLE_CHARS = 80
INK, MUTED, LINE, GROUND = "#1b1e21", "#59626b", "#d9dde0", "#ffffff"
BLUE = "#0b62ad"
# Okabe and Ito 2008, without the yellow, which is invisible on white.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a5195", "#56b4e9", "#8c6d1f", "#59626b")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', Arial, sans-serif"
EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"></svg>'
WITH_LETTER = EMPTY.replace("></svg>", f'><text x="2" y="16" font-family="{FONT}">x</text></svg>')


def colors(count: int) -> tuple[str, ...]:
    """As many colors as needed, no two equal: `PALETTE`, or evenly spaced hues of two tones."""
    if count <= len(PALETTE):
        return PALETTE[:count]
    tones = ((0.42, 0.62), (0.62, 0.5))
    parts = (
        colorsys.hls_to_rgb((0.58 + i / count) % 1, *tones[i % len(tones)]) for i in range(count)
    )
    return tuple("#" + "".join(f"{round(255 * part):02x}" for part in rgb) for rgb in parts)


def document(height: float, title: str, parts: Sequence[str], width: float = WIDTH) -> str:
    """The whole file; `title` is the text for screen readers."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
            f'viewBox="0 0 {width:g} {height:g}" role="img" font-family="{FONT}" font-size="13">',
            f"<title>{plain(title)}</title>",
            rect(0, 0, width, height, GROUND),
            *parts,
            "</svg>\n",
        ]
    )


def title(words: str, chars: int = TITLE_CHARS) -> list[str]:
    """A heading, wrapped into lines."""
    lines = textwrap.wrap(one_line(words), chars, break_on_hyphens=False)
    return [text(16, 28 + 22 * i, line, size=16, weight=600) for i, line in enumerate(lines)]


def title_height(lines: Sequence[str]) -> float:
    """The height of a heading: the next part starts below it."""
    return 22.0 * len(lines) + 16


def plain(text: str, longest: int = LINE_MAX) -> str:
    """Foreign text on one line, without markup or direction characters."""
    return html.escape(one_line(text, longest))


def text(
    x: float,
    y: float,
    words: str,
    *,
    anchor: str = "start",
    fill: str = INK,
    size: float = 13,
    weight: int = 400,
    longest: int = LINE_MAX,
) -> str:
    """`y` is the baseline."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" '
        f'font-size="{size:g}" font-weight="{weight}">{plain(words, longest)}</text>'
    )


def note(x: float, y: float, words: str, anchor: str = "start", longest: int = LINE_MAX) -> str:
    """Small text in a muted color."""
    return text(x, y, words, anchor=anchor, fill=MUTED, size=11, longest=longest)


def rect(x: float, y: float, width: float, height: float, fill: str, opacity: float = 1.0) -> str:
    return _box(x, y, width, height, f'fill="{fill}" fill-opacity="{opacity:g}"')


def hatched(x: float, y: float, width: float, height: float) -> list[str]:
    """A dashed bar with slanted lines: a figure that has no rank. Also plain without color."""
    outline = _box(x, y, width, height, f'fill="none" stroke="{MUTED}" stroke-dasharray="3 3"')
    end, bottom, strokes = x + width, y + height, []
    start = x - height + HATCH
    while start < end:
        # A line that rises by `height` over `height`, cut to the bar.
        x1, x2 = max(x, start), min(end, start + height)
        if x1 < x2:
            y1, y2 = bottom - (x1 - start), bottom - (x2 - start)
            strokes.append(f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}")
        start += HATCH
    path = f'<path d="{"".join(strokes)}" fill="none" stroke="{MUTED}" stroke-width="0.8"/>'
    return [path, outline] if strokes else [outline]


def _box(x: float, y: float, width: float, height: float, style: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {style}/>'


def line(x1: float, y1: float, x2: float, y2: float, stroke: str, width: float = 1) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" '
        f'stroke-width="{width:g}"/>'
    )


def whisker(low: float, high: float, y: float, half: float, width: float) -> list[str]:
    """An interval: a horizontal line with ends that reach `half` up and down."""
    ends = (line(x, y - half, x, y + half, INK, width) for x in (low, high))
    return [line(low, y, high, y, INK, width), *ends]


def fade(x1: float, x2: float, y: float, stroke: str, width: float = 1) -> list[str]:
    """A horizontal line that fades out from `x1` to `x2`: an end that is unknown."""
    step = (x2 - x1) / FADE
    return [
        f'<line x1="{x1 + step * i:.1f}" y1="{y:.1f}" x2="{x1 + step * (i + 1):.1f}" '
        f'y2="{y:.1f}" stroke="{stroke}" stroke-width="{width:g}" '
        f'stroke-opacity="{1 - i / FADE:.2f}"/>'
        for i in range(FADE)
    ]


def path(points: Sequence[tuple[float, float]], stroke: str) -> str:
    steps = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{steps}" fill="none" stroke="{stroke}" stroke-width="2"/>'


def dot(x: float, y: float, fill: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{fill}"/>'


def with_footer(
    view: RunView,
    analysis: Analysis,
    title: str,
    parts: Sequence[str],
    y: float,
    whiskers: bool = False,
    workloads: str | None = None,
) -> str:
    """The whole SVG: `parts`, then a footer whose first baseline is at `y`.

    The footer names the protocol, the run and the machine; with `whiskers` also what they are.
    `workloads` is what it shows, if that is not the view's workload alone.
    """
    lines = [
        f"{_load(view, analysis, workloads)}; {numbers.moment(view.started_at)}, run {view.run_id}",
        *([_whiskers(analysis)] if whiskers else ()),
        machine(view),
    ]
    footer = [note(16, y + STEP * i, words, longest=125) for i, words in enumerate(lines)]
    return document(y + STEP * len(footer), title, [*parts, *footer])


def machine(view: RunView) -> str:
    """The server host in one line."""
    server = next((host for host in view.hosts if host.role == "server"), None)
    return wording.machine(server.fingerprint) if server else "unknown machine"


def _load(view: RunView, analysis: Analysis, workloads: str | None) -> str:
    protocol = view.protocol.name
    connections = numbers.count(analysis.main.connections, "connection") if analysis.levels else ""
    if workloads is None and (len(view.workloads) > 1 or view.workload != HELLO):
        workloads = f"workload {view.workload}"
    return ", ".join(filter(None, [f"protocol {protocol}", workloads, connections]))


def _whiskers(analysis: Analysis) -> str:
    ranking = analysis.main.ranking
    if ranking is None:
        return "whiskers: the slowest and the fastest trial; hatched: no valid trial"
    confidence = numbers.percent(ranking.level.confidence, 0)
    return (
        f"whiskers: interval of the ratio to the fastest, jointly at {confidence}; "
        "a fading line: unknown; hatched: not ranked"
    )


def png(svg: str, zoom: int = 2) -> bytes:
    """By default at twice its size, for dense screens.

    Raises `DeadheatError` without resvg or a font.
    """
    try:
        svg_to_bytes = importlib.import_module("resvg_py").svg_to_bytes
    except ImportError as error:
        raise DeadheatError(
            "--format png needs the package resvg_py, which is not installed",
            "pip install 'deadheat[png]'; or take --format svg",
        ) from error
    if svg_to_bytes(svg_string=WITH_LETTER) == svg_to_bytes(svg_string=EMPTY):
        raise DeadheatError(
            "--format png: this machine has no font to write with",
            "apt-get install fonts-dejavu-core; or take --format svg",
        )
    return bytes(svg_to_bytes(svg_string=svg, zoom=zoom))
