"""The page's pictures: places of the first fifty, repeats as a scatter, rates as a histogram."""

import math
from collections.abc import Callable, Iterator

from deadheat import numbers
from deadheat.boards.readings import RankPicture, RatePicture, RepeatPicture
from deadheat.boards.words import same_of, title_of
from deadheat.report.picture import svg

ROW, LEFT, RIGHT, TOP = 15, 190, 120, 24
HEIGHT = 250
MOST = 1.0  # log ratio at the edge of the scatter; a repeat beyond it is drawn there
TICKS = (0.4, 0.5, 0.7, 0.85, 1, 1.18, 1.4, 2, 2.5)


def draw_ranks(picture: RankPicture) -> str:
    """Each entry's places as a line, with an upright at the published one."""
    title = (
        f"{title_of(picture.board)}, {picture.profile}: places that the noise allows, "
        f"{len(picture.placed)} of {picture.entries}"
    )
    parts = svg.title(title)
    top = svg.title_height(parts) + TOP
    most = max(entry.last for entry in picture.placed)
    scale = (svg.WIDTH - LEFT - RIGHT) / max(most - 1, 1)
    bottom = top + ROW * len(picture.placed)
    for place in _steps(most):
        x = LEFT + scale * (place - 1)
        parts.append(svg.line(x, top - 4, x, bottom, svg.LINE))
        parts.append(svg.text(x, top - 8, str(place), anchor="middle", fill=svg.MUTED, size=11))
    for number, entry in enumerate(picture.placed):
        middle = top + ROW * (number + 0.5)
        low, high = (LEFT + scale * (place - 1) for place in (entry.first, entry.last))
        rate = numbers.rate(entry.rate_per_s)
        parts += [
            svg.text(LEFT - 10, middle + 4, entry.entry, anchor="end", size=11, longest=26),
            svg.line(low, middle, high, middle, svg.BLUE, 3),
            svg.line(
                LEFT + scale * number, middle - 5, LEFT + scale * number, middle + 5, svg.INK, 2
            ),
            svg.text(svg.WIDTH - 12, middle + 4, rate, anchor="end", fill=svg.MUTED, size=11),
        ]
    parts.append(
        svg.text(
            16,
            bottom + 22,
            f"edition {picture.edition}; upright: the published place; right: requests/s",
            fill=svg.MUTED,
            size=11,
        )
    )
    return svg.document(bottom + 34, title, parts)


def _steps(most: int) -> Iterator[int]:
    """Place 1, and round places."""
    step = next((each for each in (1, 2, 5, 10, 20, 50, 100) if most / each <= 12), 200)
    yield 1
    yield from range(step if step > 1 else 2, most + 1, step)


def draw_repeats(picture: RepeatPicture) -> str:
    """Later over earlier rate, by the earlier rate."""
    title = (
        f"{title_of(picture.board)}, {picture.profile}: {len(picture.ratios)} repeats, "
        f"{same_of(picture.board)}"
    )
    parts = svg.title(title)
    top = svg.title_height(parts) + 10
    left, right = 70, svg.WIDTH - 24
    logs = [math.log(rate) for rate in picture.rates_per_s]
    first, last = min(logs) - 0.05, max(logs) + 0.05

    def x_of(rate: float) -> float:
        return left + (right - left) * (math.log(rate) - first) / (last - first)

    def y_of(ratio: float) -> float:
        return top + HEIGHT * (0.5 - max(-MOST, min(MOST, math.log(ratio))) / MOST / 2)

    for tick in TICKS:
        y = y_of(tick)
        parts.append(svg.line(left, y, right, y, svg.INK if tick == 1 else svg.LINE))
        parts.append(svg.text(left - 8, y + 4, f"{tick:g}", anchor="end", fill=svg.MUTED, size=11))
    parts += _rate_axis(math.exp(first), math.exp(last), x_of, top + HEIGHT)
    for rate, ratio in zip(picture.rates_per_s, picture.ratios, strict=True):
        beyond = abs(math.log(ratio)) > MOST
        color = svg.PALETTE[1] if beyond else svg.BLUE
        parts.append(svg.rect(x_of(rate) - 2.5, y_of(ratio) - 2.5, 5, 5, color, 0.7))
    note = "later rate over earlier rate; orange: beyond the scale"
    parts.append(svg.text(16, top + HEIGHT + 38, note, fill=svg.MUTED, size=11))
    return svg.document(top + HEIGHT + 50, title, parts)


def draw_rates(picture: RatePicture) -> str:
    """How many entries have which rate; a plateau is in another color."""
    title = f"{title_of(picture.board)}, {picture.profile}: entries by rate"
    parts = svg.title(title)
    top = svg.title_height(parts) + 10
    left, right = 70, svg.WIDTH - 24
    first, last = math.log(picture.edges[0]), math.log(picture.edges[-1])
    most = max(picture.counts)

    def x_of(rate: float) -> float:
        return left + (right - left) * (math.log(rate) - first) / (last - first)

    for count in dict.fromkeys((0, round(most / 2), most)):
        y = top + HEIGHT * (1 - count / most)
        parts.append(svg.line(left, y, right, y, svg.LINE))
        parts.append(svg.text(left - 8, y + 4, str(count), anchor="end", fill=svg.MUTED, size=11))
    for low, high, count in zip(picture.edges, picture.edges[1:], picture.counts, strict=False):
        crowded = (
            picture.crowd_low is not None
            and picture.crowd_high is not None
            and low <= picture.crowd_high
            and high >= picture.crowd_low
        )
        height = HEIGHT * count / most
        color = svg.PALETTE[1] if crowded else svg.BLUE
        if count:
            width = x_of(high) - x_of(low) - 1
            parts.append(svg.rect(x_of(low), top + HEIGHT - height, width, height, color))
    parts += _rate_axis(picture.edges[0], picture.edges[-1], x_of, top + HEIGHT)
    note = f"entries in each step of the rate; edition {picture.edition}" + (
        "; orange: the plateau" if picture.crowd_low is not None else ""
    )
    parts.append(svg.text(16, top + HEIGHT + 38, note, fill=svg.MUTED, size=11))
    return svg.document(top + HEIGHT + 50, title, parts)


def _rate_axis(low: float, high: float, x_of: Callable[[float], float], y: float) -> list[str]:
    """Ticks at 1, 2 and 5 times powers of ten; at powers alone over a wide range."""
    wide = high / low > 200
    steps = (1,) if wide else (1, 2, 5)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    parts = []
    for tick in ticks:
        if low <= tick <= high:
            x = x_of(tick)
            parts.append(svg.line(x, y, x, y + 5, svg.MUTED))
            words = numbers.figure(tick)
            parts.append(svg.text(x, y + 19, words, anchor="middle", fill=svg.MUTED, size=11))
    parts.append(
        svg.text(svg.WIDTH - 12, y + 38, "requests/s", anchor="end", fill=svg.MUTED, size=11)
    )
    return parts
