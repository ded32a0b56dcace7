"""A line chart, with each line's name at its end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deadheat.report.picture import svg

LEFT, RIGHT, TOP, BOTTOM = 64, 210, 60, 52
HEIGHT = 400
APART = 15

Scale = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    points: tuple[tuple[float, float], ...]
    color: str


@dataclass(frozen=True, slots=True)
class Axis:
    """`scale` maps a value to 0..1 of the plane; `ticks` are values with their labels."""

    label: str
    scale: Scale
    ticks: Sequence[tuple[float, str]]


def plane(title: str, x: Axis, y: Axis, lines: Sequence[Line]) -> list[str]:
    """The parts of a line chart, `HEIGHT` pixels high without its footer."""
    right, bottom = svg.WIDTH - RIGHT, HEIGHT - BOTTOM

    def at(point: tuple[float, float]) -> tuple[float, float]:
        across, up = x.scale(point[0]), y.scale(point[1])
        return LEFT + across * (right - LEFT), bottom - up * (bottom - TOP)

    across = [(LEFT + x.scale(value) * (right - LEFT), label) for value, label in x.ticks]
    up = [(bottom - y.scale(value) * (bottom - TOP), label) for value, label in y.ticks]
    return [
        *svg.title(title),
        svg.text(LEFT, TOP - 10, y.label, fill=svg.MUTED, size=11),
        svg.text(right, bottom + 36, x.label, anchor="end", fill=svg.MUTED, size=11),
        *(svg.line(place, TOP, place, bottom, svg.LINE) for place, _ in across),
        *(svg.line(LEFT, place, right, place, svg.LINE) for place, _ in up),
        *(
            svg.text(place, bottom + 18, label, anchor="middle", fill=svg.MUTED, size=11)
            for place, label in across
        ),
        *(
            svg.text(LEFT - 8, place + 4, label, anchor="end", fill=svg.MUTED, size=11)
            for place, label in up
        ),
        *(svg.path([at(point) for point in line.points], line.color) for line in lines),
        *(svg.dot(*at(line.points[-1]), line.color) for line in lines),
        *_names(lines, [at(line.points[-1]) for line in lines], right),
    ]


def _names(lines: Sequence[Line], ends: Sequence[tuple[float, float]], right: float) -> list[str]:
    """Each name beside the plane, connected to the end of its line."""
    parts = []
    order = sorted(zip(ends, lines, strict=True), key=lambda pair: pair[0][1])
    places = apart([y for (_, y), _ in order])
    for ((x, y), line), place in zip(order, places, strict=True):
        parts += [
            svg.line(x, y, right + 8, place, line.color, 0.6),
            svg.text(right + 12, place + 4, line.name, fill=line.color, size=12, longest=26),
        ]
    return parts


def apart(wanted: Sequence[float]) -> list[float]:
    """Ascending positions at least `APART` from each other, as near to the wanted as possible.

    Names that would overlap are spread around the mean of their positions; none is above `TOP`.
    """
    blocks: list[list[float]] = []
    for place in wanted:
        block = [place]
        while blocks and _first(blocks[-1]) + APART * len(blocks[-1]) > _first(block):
            block = blocks.pop() + block
        blocks.append(block)
    return [_first(block) + APART * i for block in blocks for i in range(len(block))]


def _first(block: Sequence[float]) -> float:
    return max(TOP, sum(block) / len(block) - APART * (len(block) - 1) / 2)
