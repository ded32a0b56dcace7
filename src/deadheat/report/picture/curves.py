"""Line charts with each line's name at its end: latency by quantile, and decay by trial.

Decay is the rate of each trial of a start, in percent of that start's first trial. Where controls
ran in the same trials, what they explain is divided out.

A flame graph, of what perf sampled of one contender, is drawn by inferno.
"""

import math
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deadheat import numbers
from deadheat.errors import DeadheatError
from deadheat.host import HostError, ProcessSpec
from deadheat.host.local import LocalHost
from deadheat.report.findings.analysis import Analysis
from deadheat.report.findings.explanation import contenders_of
from deadheat.report.model.view import Cell, ContenderView, RunView
from deadheat.report.picture import svg
from deadheat.report.picture.svg import with_footer

LEFT, RIGHT, TOP, BOTTOM = 64, 210, 60, 52
HEIGHT = 400
APART = 15
FIRST = 0.1
LATENCIES_MAX = 8
SHARES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
DECAYS_MAX = 12
DECAYED = 0.9
COLLAPSED = 0.6  # of the first trial: no noise, even of a few trials
ALARM_FEWEST = 6  # trials of a start: a few noisy ones are no alarm
LAST = 3  # trials that all have to be below
TICKS = 8


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    points: tuple[tuple[float, float], ...]
    color: str


@dataclass(frozen=True, slots=True)
class Axis:
    """`scale` maps a value to 0..1 of the plane; `ticks` are values with their labels."""

    label: str
    scale: Callable[[float], float]
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
        svg.note(LEFT, TOP - 10, y.label),
        svg.note(right, bottom + 36, x.label, "end"),
        *(svg.line(place, TOP, place, bottom, svg.LINE) for place, _ in across),
        *(svg.line(LEFT, place, right, place, svg.LINE) for place, _ in up),
        *(svg.note(place, bottom + 18, label, "middle") for place, label in across),
        *(svg.note(LEFT - 8, place + 4, label, "end") for place, label in up),
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


def draw_latency(view: RunView, analysis: Analysis) -> str | None:
    """The first eight of the ranking; None if no histogram is stored."""
    if not analysis.levels:
        return None
    measured = [s for s in analysis.main.standings if len(s.cell.service.curve) > 1]
    shown = [
        Line(
            name=standing.name,
            points=tuple((q, us / 1000) for q, us in standing.cell.service.curve if q >= FIRST),
            color=svg.PALETTE[place],
        )
        for place, standing in enumerate(measured[:LATENCIES_MAX])
    ]
    shown = [line for line in shown if line.points]
    if not shown:
        return None
    at = numbers.count(analysis.main.connections, "connection")
    title = f"Service time at {at}, closed loop"
    if len(measured) > LATENCIES_MAX:
        title += f": the first {LATENCIES_MAX} of {len(measured)}"
    parts = plane(title, _across_quantiles(shown), _up_ms(shown), shown)
    return with_footer(view, analysis, title, parts, HEIGHT + 16)


def _across_quantiles(shown: Sequence[Line]) -> Axis:
    most = max(_nines(line.points[-1][0]) for line in shown)
    first = _nines(FIRST)
    return Axis(
        label="share of requests that took at most this, %",
        scale=lambda q: (_nines(q) - first) / (most - first or 1.0),
        ticks=[(q, f"{100 * q:g}") for q in SHARES if _nines(q) <= most + 1e-6],
    )


def _nines(q: float) -> float:
    return -math.log10(1 - q)


def _up_ms(shown: Sequence[Line]) -> Axis:
    values = [ms for line in shown for _, ms in line.points]
    low, high = math.log10(min(values)), math.log10(max(values))
    steps = (1, 2, 5) if high - low < 2.3 else (1,)
    decades = range(math.floor(low), math.ceil(high) + 1)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    return Axis(
        label="ms",
        scale=lambda ms: (math.log10(ms) - low) / (high - low or 1.0),
        ticks=[(tick, f"{tick:g}") for tick in ticks if low <= math.log10(tick) <= high],
    )


def draw_decay(view: RunView, analysis: Analysis) -> str | None:
    """The twelve servers that lost most; None if no start has two trials."""
    if not analysis.levels:
        return None
    controls = _control_shares(view, analysis.main.connections)
    shares_by_name = [
        (standing.name, _beside(shares(standing.cell), controls))
        for standing in analysis.main.standings
    ]
    by_loss = sorted(
        (pair for pair in shares_by_name if len(pair[1]) > 1), key=lambda pair: pair[1][-1]
    )
    if not by_loss:
        return None
    shown = [
        Line(
            name=f"{numbers.percent(share[-1], 0)} {name}",
            points=tuple((float(trial), 100 * each) for trial, each in enumerate(share, start=1)),
            color=svg.PALETTE[1] if fell(share) else svg.MUTED,
        )
        for name, share in by_loss[:DECAYS_MAX]
    ]
    decayed = sum(fell(share) for _, share in by_loss)
    of = numbers.count(len(by_loss), "server")
    title = f"{decayed or 'None'} of {of} ended a start more than 10 % below its first trial"
    if controls:
        title += ", beside the controls"
    parts = plane(title, _across_trials(shown), _up_shares(shown), shown)
    return with_footer(view, analysis, title, parts, HEIGHT + 16)


def fell(share: Sequence[float]) -> bool:
    """Whether it ended below the limit for good: in its last trials, or far below."""
    if len(share) < ALARM_FEWEST:
        return share[-1] < COLLAPSED
    return max(share[-LAST:]) < DECAYED


def _control_shares(view: RunView, connections: int) -> tuple[float, ...]:
    """What the machine did: the geometric mean over the controls; empty without controls."""
    known = [
        share
        for control in view.controls
        if connections in control.cells and (share := shares(control.cells[connections]))
    ]
    return tuple(map(statistics.geometric_mean, zip(*known, strict=False)))


def _beside(share: tuple[float, ...], controls: tuple[float, ...]) -> tuple[float, ...]:
    """The shares that the controls do not explain; as they are where no control was measured."""
    return tuple(
        each / (controls[trial] if trial < len(controls) else 1.0)
        for trial, each in enumerate(share)
    )


def shares(cell: Cell) -> tuple[float, ...]:
    """For each trial, the geometric mean over starts of its rate over the start's first rate.

    Ends with the start that has the fewest trials.
    """
    starts: defaultdict[int, list[float]] = defaultdict(list)
    for trial in cell.trials:
        if trial.measured and trial.rate_per_s is not None:
            starts[trial.invocation].append(trial.rate_per_s)
    changes = ([rate / rates[0] for rate in rates] for rates in starts.values())
    return tuple(map(statistics.geometric_mean, zip(*changes, strict=False)))


def _across_trials(shown: Sequence[Line]) -> Axis:
    most = max(len(line.points) for line in shown)
    every = max(1, round(most / TICKS))
    return Axis(
        label="trial since the start",
        scale=lambda trial: (trial - 1) / (most - 1 or 1),
        ticks=[(float(trial), str(trial)) for trial in range(1, most + 1, every)],
    )


def _up_shares(shown: Sequence[Line]) -> Axis:
    most = max(100.0, *(share for line in shown for _, share in line.points))
    return Axis(
        label="% of the first trial",
        scale=lambda share: share / most,
        ticks=[(float(share), str(share)) for share in range(0, int(most) + 1, 20)],
    )


INFERNO = "inferno-flamegraph"
DRAW_S = 60.0


def draw_flame(view: RunView, analysis: Analysis, names: tuple[str, ...] = ()) -> str | None:
    """One SVG without anything from the network; None if perf sampled no such contender.

    Without a name, that of the first contender. Raises `DeadheatError` without inferno.
    """
    sampled = {each.name: each for each in contenders_of(view) if each.stacks}
    chosen = sampled.get(names[0]) if names else next(iter(sampled.values()), None)
    if chosen is None:
        return None
    with tempfile.TemporaryDirectory() as folder, LocalHost() as host:
        path = Path(folder) / "stacks"
        lines = [f"{stack} {samples}\n" for stack, samples in sorted(chosen.stacks.items())]
        path.write_text("".join(lines), encoding="utf-8")
        words = [f"--title={chosen.name}: where its CPU time goes under load, run {view.run_id}"]
        words += [f"--subtitle={_flame_legend(chosen)}", "--nametype=Function:"]
        command = [INFERNO, *words, "--colors=java", "--hash", str(path)]
        try:
            drawn = host.run(ProcessSpec(command), DRAW_S)
        except HostError as error:
            raise DeadheatError(
                f"--picture flame: {INFERNO} is missing, which draws it", "cargo install inferno"
            ) from error
    if drawn.exit_code != 0:
        raise DeadheatError(f"--picture flame: {INFERNO} failed: {drawn.stderr.strip()[-200:]}")
    return drawn.stdout


def _flame_legend(contender: ContenderView) -> str:
    total = sum(contender.stacks.values())
    unknown = sum(n for stack, n in contender.stacks.items() if stack.endswith(";[unknown]"))
    return (
        f"width: share of {numbers.count(total, 'sample')}; orange: the kernel; "
        f"without a name: {numbers.percent(unknown / total)}"
    )
