"""The SVG chart of a timeline: one mark per run, in order of time."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deadheat import numbers
from deadheat.serve.markup import Html, text, wide

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 560, 220, 80, 44, 24, 24
DATES_MAX = 4
LABEL_WIDTH = 110
RADIUS = 4.0


@dataclass(frozen=True, slots=True)
class Mark:
    """One run: the median, slowest and fastest repetition, in requests/s."""

    run_id: str
    date: str
    version: str
    median_per_s: float
    slowest_per_s: float
    fastest_per_s: float


def chart(caption: str, marks: Sequence[Mark]) -> Html:
    """The chart, with rates from 0, dates below and version changes above. Needs 1 mark or more."""
    scale = _Scale(len(marks), max(mark.fastest_per_s for mark in marks))
    elements = [
        *(_gridline(rate_per_s, scale) for rate_per_s in scale.ticks()),
        *_dates(marks, scale),
        *_versions(marks, scale),
        *(_mark(mark, scale.x(index), scale) for index, mark in enumerate(marks)),
    ]
    svg = Html(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(caption)}">'
        f"{''.join(elements)}</svg>"
    )
    return Html(f"<figure><figcaption>{text(caption)}</figcaption>{wide(caption, svg)}</figure>")


@dataclass(frozen=True, slots=True)
class _Scale:
    """Positions of marks and rates in the picture, in px."""

    marks: int
    highest_per_s: float

    @property
    def step(self) -> float:
        """The distance between marks."""
        return (WIDTH - LEFT - RIGHT) / max(self.marks - 1, 1)

    def x(self, index: int) -> float:
        """A single mark is in the middle."""
        return LEFT + (WIDTH - LEFT - RIGHT) / 2 if self.marks == 1 else LEFT + index * self.step

    def y(self, rate_per_s: float) -> float:
        share = rate_per_s / self.ticks()[-1]
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)

    def ticks(self) -> list[float]:
        """0 and up to five round rates, the last one at least `highest_per_s`."""
        rough = self.highest_per_s / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(digit * power for digit in (1, 2, 2.5, 5, 10) if digit * power >= rough)
        return [step * index for index in range(math.ceil(self.highest_per_s / step) + 1)]


def _gridline(rate_per_s: float, scale: _Scale) -> str:
    y = scale.y(rate_per_s)
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{numbers.rate(rate_per_s)}</text>'
    )


def _dates(marks: Sequence[Mark], scale: _Scale) -> Iterator[str]:
    """Dates of evenly spaced runs, each date only once."""
    every = max(1, math.ceil((len(marks) - 1) / (DATES_MAX - 1)))
    date = None
    for index in range(0, len(marks), every):
        if marks[index].date != date:
            date = marks[index].date
            yield _label(scale.x(index), HEIGHT - 6, date)


def _versions(marks: Sequence[Mark], scale: _Scale) -> Iterator[str]:
    """A line where a version begins, unless its label would overlap the previous one."""
    free, version = 0.0, None
    for index, mark in enumerate(marks):
        if mark.version != version and (x := scale.x(index)) >= free:
            free, version = x + LABEL_WIDTH, mark.version
            yield (
                f'<line class="version" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" '
                f'y2="{HEIGHT - BOTTOM}"/>{_label(x, TOP - 10, version)}'
            )


def _label(x: float, y: float, label: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{text(label)}</text>'


def _mark(mark: Mark, x: float, scale: _Scale) -> str:
    title = f"{mark.run_id}, {mark.version}: {numbers.rate(mark.median_per_s)} req/s"
    return (
        f'<line class="range" x1="{x:.1f}" x2="{x:.1f}" y1="{scale.y(mark.slowest_per_s):.1f}" '
        f'y2="{scale.y(mark.fastest_per_s):.1f}"/>'
        f'<circle cx="{x:.1f}" cy="{scale.y(mark.median_per_s):.1f}" '
        f'r="{min(RADIUS, max(scale.step * 0.45, 1.5)):.1f}"><title>{text(title)}</title></circle>'
    )
