"""The chart of a timeline: one mark a run, in their order, drawn as SVG."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deadheat.report import format
from deadheat.serve.markup import Html, text, wide

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 900, 260, 80, 44, 24, 24
DATES_MAX = 7
LABEL_WIDTH = 110
RADIUS = 4.0


@dataclass(frozen=True, slots=True)
class Mark:
    """One run: its median with the slowest and the fastest repetition, in requests/s."""

    run_id: str
    date: str
    version: str
    median_per_s: float
    slowest_per_s: float
    fastest_per_s: float


def chart(caption: str, marks: Sequence[Mark]) -> Html:
    """Rates from 0; dates below, and above each version where it begins. Takes 1 mark or more."""
    scale = _Scale(len(marks), max(mark.fastest_per_s for mark in marks))
    drawn = [
        *(_gridline(at, scale) for at in scale.ticks()),
        *_dates(marks, scale),
        *_versions(marks, scale),
        *(_mark(mark, scale.x(index), scale) for index, mark in enumerate(marks)),
    ]
    svg = Html(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{text(caption)}">'
        f"{''.join(drawn)}</svg>"
    )
    return Html(f"<figure><figcaption>{text(caption)}</figcaption>{wide(caption, svg)}</figure>")


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where marks and rates stand."""

    marks: int
    highest_per_s: float

    @property
    def step(self) -> float:
        """Between marks."""
        return (WIDTH - LEFT - RIGHT) / max(self.marks - 1, 1)

    def x(self, index: int) -> float:
        """A single mark stands in the middle."""
        return LEFT + (WIDTH - LEFT - RIGHT) / 2 if self.marks == 1 else LEFT + index * self.step

    def y(self, rate_per_s: float) -> float:
        share = rate_per_s / self.ticks()[-1]
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)

    def ticks(self) -> list[float]:
        """0 and up to five round rates, the last of them no lower than the highest."""
        rough = self.highest_per_s / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(one * power for one in (1, 2, 2.5, 5, 10) if one * power >= rough)
        return [step * index for index in range(math.ceil(self.highest_per_s / step) + 1)]


def _gridline(at_per_s: float, scale: _Scale) -> str:
    y = scale.y(at_per_s)
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text x="{LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{format.rate(at_per_s)}</text>'
    )


def _dates(marks: Sequence[Mark], scale: _Scale) -> Iterator[str]:
    """Of runs evenly apart; a date stands once, below the first of its runs that has a place."""
    every = max(1, math.ceil((len(marks) - 1) / (DATES_MAX - 1)))
    told = None
    for index in range(0, len(marks), every):
        if marks[index].date != told:
            told = marks[index].date
            yield _label(scale.x(index), HEIGHT - 6, told)


def _versions(marks: Sequence[Mark], scale: _Scale) -> Iterator[str]:
    """Where one begins, unless there is no room for its name beside the one before."""
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
    told = f"{mark.run_id}, {mark.version}: {format.rate(mark.median_per_s)} req/s"
    return (
        f'<line class="range" x1="{x:.1f}" x2="{x:.1f}" y1="{scale.y(mark.slowest_per_s):.1f}" '
        f'y2="{scale.y(mark.fastest_per_s):.1f}"/>'
        f'<circle cx="{x:.1f}" cy="{scale.y(mark.median_per_s):.1f}" '
        f'r="{min(RADIUS, max(scale.step * 0.45, 1.5)):.1f}"><title>{text(told)}</title></circle>'
    )
