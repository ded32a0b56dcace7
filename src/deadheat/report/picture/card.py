"""One or two contenders: a card for a message or a link preview, and a badge for a README."""

import textwrap

from deadheat import numbers
from deadheat.errors import DeadheatError
from deadheat.foreign_text import one_line
from deadheat.report.findings.analysis import Analysis, Standing
from deadheat.report.findings.versus import Versus, chosen_versus, name_of
from deadheat.report.formats.tables import rank
from deadheat.report.model.view import RunView
from deadheat.report.picture import svg
from deadheat.workload import Level

WIDTH, HEIGHT = 1200, 630  # the size that link previews expect
LEFT, RIGHT = 64, 1136
TITLE_SIZE, TITLE_CHARS, TITLE_STEP = 54, 34, 64
DETAIL_CHARS = 82
BAR, ROW = 40, 108
MOST_MAX = 1.5  # an interval beyond this share of the longer bar is cut
WHISKER = 3.0
FADE_OUT = 120.0
BADGE_HEIGHT = 22
LETTER = 6.7  # an upper bound of the mean width of a letter at 11 px
PAD = 7
LABEL, GOOD, PLAIN = "#3d444b", "#0b62ad", "#59626b"


def draw_card(view: RunView, analysis: Analysis, names: tuple[str, ...] = ()) -> str | None:
    """The contenders `names`; without names, the first two. None if the run compares none."""
    if not analysis.levels or (not names and len(analysis.main.standings) < 2):
        return None
    return draw_versus(view, chosen_versus(view, analysis, names))


def draw_versus(view: RunView, versus: Versus) -> str:
    titles = textwrap.wrap(versus.headline, TITLE_CHARS, break_on_hyphens=False)[:3]
    parts = [svg.text(LEFT, 72, "deadheat", fill=svg.MUTED, size=24, weight=600)]
    y = 72.0
    for line in titles:
        y += TITLE_STEP
        parts.append(svg.text(LEFT, y, line, size=TITLE_SIZE, weight=700))
    y += 12
    for line in textwrap.wrap(versus.detail, DETAIL_CHARS, break_on_hyphens=False)[:2]:
        y += 32
        parts.append(svg.text(LEFT, y, line, fill=svg.MUTED, size=24))
    parts += _bars(view, versus)
    for i, line in enumerate(_footer(view, versus)):
        parts.append(svg.text(LEFT, HEIGHT - 56 + 26 * i, line, fill=svg.MUTED, size=19))
    return svg.document(HEIGHT, f"{versus.headline}; {versus.detail}", parts, WIDTH)


def _bars(view: RunView, versus: Versus) -> list[str]:
    """Both rates as bars above the footer; the whisker is the interval of their ratio."""
    top = HEIGHT - 118 - 2 * ROW + 30
    rates = [
        standing.cell.rate_per_s(view.aggregate) or 0.0
        for standing in (versus.first, versus.second)
    ]
    # With a pair the lengths are its ratio: rates of other trials would contradict the sentence.
    share = 1 / versus.pair.ratio.ratio if versus.pair else rates[1] / (rates[0] or 1.0)
    low, high = _ends(versus)
    most = max(1.0, share, min(high or 1.0, MOST_MAX))
    scale = (RIGHT - LEFT) / most
    parts = []
    for i, (standing, length, color) in enumerate(
        ((versus.first, 1.0, svg.BLUE), (versus.second, share, svg.PALETTE[1]))
    ):
        y = top + ROW * i
        parts += [
            svg.text(LEFT, y - 10, name_of(standing), size=26, weight=600),
            svg.text(RIGHT, y - 10, _figures(view, standing), anchor="end", size=22),
        ]
        box = (LEFT, y, scale * min(length, most), BAR)
        parts += [svg.rect(*box, color, 0.6)] if standing.ranked else svg.hatched(*box)
    middle = top + ROW + BAR / 2
    if versus.pair is None:
        return parts
    end = LEFT + scale * share
    if low is None or high is None:
        return [*parts, *svg.fade(end, min(end + FADE_OUT, RIGHT), middle, svg.INK, WHISKER)]
    ends = (LEFT + scale * min(low, most), LEFT + scale * min(high, most))
    return [*parts, *svg.whisker(*ends, middle, 12, WHISKER)]


def _ends(versus: Versus) -> tuple[float | None, float | None]:
    """The interval of the slower one's share of the faster one; None if it is unknown."""
    if versus.pair is None:
        return None, None
    ratio = versus.pair.ratio
    known = numbers.is_known(ratio.low, ratio.high)
    return (1 / ratio.high, 1 / ratio.low) if known else (None, None)


def _figures(view: RunView, standing: Standing) -> str:
    figures = f"{numbers.rate(standing.cell.rate_per_s(view.aggregate))} requests/s"
    p99_us = standing.cell.service["p99"]
    if p99_us is not None:
        figures += f", p99 {numbers.milliseconds(p99_us)} ms"
    return figures if standing.ranked else f"({figures}) not ranked"


def _footer(view: RunView, versus: Versus) -> list[str]:
    return [
        f"{one_line(str(Level(view.workload, versus.connections)), 60)}, "
        f"{numbers.count(view.server_cpus, 'server CPU')}, closed loop; "
        f"{numbers.moment(view.started_at)}, run {view.run_id}",
        one_line(svg.machine(view), 100),
    ]


def draw_badge(view: RunView, analysis: Analysis, names: tuple[str, ...] = ()) -> str | None:
    """One name: its rank. Two names: their verdict. None: who is fastest."""
    if not analysis.levels or not analysis.main.standings:
        return None
    if len(names) > 1:
        pair = chosen_versus(view, analysis, names)
        label = f"{name_of(pair.first)} vs {name_of(pair.second)}"
        return badge(label, pair.brief, GOOD if pair.pair else PLAIN)
    standing = _standing(view, analysis, names[0]) if names else analysis.main.standings[0]
    count = len(analysis.main.ranked)
    if not standing.ranked:
        return badge(name_of(standing), "not ranked", PLAIN)
    return badge(name_of(standing), f"rank {rank(standing)} of {count}", GOOD)


def _standing(view: RunView, analysis: Analysis, name: str) -> Standing:
    for standing in analysis.main.standings:
        if name in (standing.contender.name, standing.name):
            return standing
    names = [standing.contender.name for standing in analysis.main.standings]
    raise DeadheatError(
        f"--of {name}: run {view.run_id} has no such contender",
        f"its contenders: {', '.join(names)}",
    )


def badge(label: str, verdict: str, color: str) -> str:
    """Two boxes with text."""
    left, right = (2 * PAD + LETTER * len(words) for words in (label, verdict))
    base = BADGE_HEIGHT / 2 + 4
    parts = [
        svg.rect(0, 0, left, BADGE_HEIGHT, LABEL),
        svg.rect(left, 0, right, BADGE_HEIGHT, color),
        svg.text(left / 2, base, label, anchor="middle", fill=svg.GROUND, size=11),
        svg.text(left + right / 2, base, verdict, anchor="middle", fill=svg.GROUND, size=11),
    ]
    words = one_line(f"{label}: {verdict}")
    return svg.document(BADGE_HEIGHT, words, parts, round(left + right, 1))
