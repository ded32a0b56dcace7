"""What limited the figures: Little's law, plateaus, and the CPUs of the server."""

import math
import statistics
from collections.abc import Sequence

import numpy as np

from deadheat.boards.model import Measurement, Table
from deadheat.boards.readings import BoardFinding, Figure, RatePicture, finding_of, rounded
from deadheat.stats.distributions import Floats

# Requests under way, as connections / (rate x latency), that a whole profile and a row may have.
PROFILE_OFF = 1.25
MEAN_LOW, MEAN_HIGH = 0.9, 1.25
# Half of the requests take the median or longer: the mean is at least half of it.
MEDIAN_LOW, MEDIAN_HIGH = 0.5, 1.5
WITHIN = 1.015  # the highest rate of a plateau over its lowest
PLATEAU_MIN, PLATEAU_SHARE, PLATEAU_P = 8, 0.04, 1e-3
AROUND = 10  # windows on each side that say how many entries to expect
UNDER_WAY_MIN = 1e-9  # requests; with fewer, a figure is not one of a load
IDLE_SHARE = 0.6  # of the CPUs
OVER_SHARE = 1.05
STEPS_MIN, STEPS_MAX = 12, 60  # of the histogram of rates
LOG_MIN = 0.1  # width of the histogram of equal rates
EACH = 4  # entries in a step of it, on average


def little(table: Table) -> BoardFinding | None:
    """Little's law: connections = rate x mean latency, times the depth of pipelines."""
    held = {row.entry: held_of(row) for row in table.rated}
    known = {entry: ratio for entry, ratio in held.items() if ratio is not None}
    if not known:
        return None
    by_mean = any(row.mean_s is not None for row in table.rated)
    low, high = (MEAN_LOW, MEAN_HIGH) if by_mean else (MEDIAN_LOW, MEDIAN_HIGH)
    center = statistics.median(known.values())
    # The least ratio of a profile is that of an entry that was busy all the time.
    least = float(np.quantile(list(known.values()), 0.1))
    off = least if by_mean and not 1 / PROFILE_OFF <= least <= PROFILE_OFF else 1.0
    beyond = [
        (abs(math.log(ratio / off)), row, ratio)
        for row in table.rated
        if (ratio := known.get(row.entry)) is not None and not low <= ratio / off <= high
    ]
    beyond.sort(key=lambda item: (-item[0], item[1].entry))
    connections = next((row.connections for row in table.rated if row.connections), None)
    return finding_of(
        "little",
        table,
        fires=off > 1 or bool(beyond),
        judged=len(known),
        values={
            "basis": "mean" if by_mean else "median",
            "median_ratio": rounded(center),
            "off": rounded(off),
            "connections": connections,
            "under_way": round(connections / off) if connections and off > 1 else None,
            "each": rounded(1 / off, 3) if off < 1 else None,
            "more_than_connections": sum(ratio / off < low for _, _, ratio in beyond),
            "fewer_than_connections": sum(ratio / off > high for _, _, ratio in beyond),
            "largest": rounded(max(known.values())),
        },
        rows=[
            {
                "entry": row.entry,
                "rate_per_s": rounded(row.rate_per_s),
                "latency_ms": rounded(1000 * (row.mean_s or row.p50_s or 0.0)),
                "ratio": rounded(ratio),
                "cannot_be": "rate or latency is wrong"
                if ratio / off < low
                else "connections were idle, or the latency leaves something out",
            }
            for _, row, ratio in beyond
        ],
    )


def held_of(row: Measurement) -> float | None:
    """Connections times depth over requests under way by Little's law."""
    latency_s = row.mean_s if row.mean_s is not None else row.p50_s
    if not row.connections or not latency_s:
        return None
    under_way = row.rate_per_s * latency_s
    return row.connections * row.depth / under_way if under_way > UNDER_WAY_MIN else None


def plateau(table: Table) -> BoardFinding | None:
    """The window of rates with the most entries, if they are far more than around it."""
    rates = np.sort([row.rate_per_s for row in table.rated])
    if len(rates) < 2 * PLATEAU_MIN:
        return None
    start, count, expected = densest(np.log(rates))
    fires = is_plateau(len(rates), count, expected)
    low, high = rates[start], rates[start + count - 1]
    rows = [row for row in table.rated if low <= row.rate_per_s <= high]
    return finding_of(
        "plateau",
        table,
        judged=len(rates),
        values={
            "low_per_s": rounded(low),
            "high_per_s": rounded(high),
            "entries": count,
            "expected": rounded(expected, 2),
            "above": int((rates > high).sum()),
        },
        rows=[{"entry": row.entry, "rate_per_s": rounded(row.rate_per_s)} for row in rows if fires],
    )


def densest(logs: Floats) -> tuple[int, int, float]:
    """First place and size of the densest window of sorted logs, and the size to expect there."""
    width = math.log(WITHIN)
    ends = np.searchsorted(logs, logs + width, side="right")
    sizes = ends - np.arange(len(logs))
    start = int(np.argmax(sizes))
    size, low, high = int(sizes[start]), logs[start], logs[start] + width
    around = ((logs >= low - AROUND * width) & (logs <= high + AROUND * width)).sum() - size
    return start, size, float(max(around, 1) / (2 * AROUND))


def is_plateau(entries: int, size: int, expected: float) -> bool:
    """Whether chance would put so many into one of all windows (Poisson, Bonferroni)."""
    from scipy import special  # it takes long to import

    by_chance = float(special.pdtrc(size - 1, expected)) * entries
    return size >= max(PLATEAU_MIN, PLATEAU_SHARE * entries) and by_chance < PLATEAU_P


def rates_of(table: Table, crowd: BoardFinding | None) -> RatePicture:
    """The histogram of a table's rates, in equal steps of their logarithm."""
    logs = np.log([row.rate_per_s for row in table.rated])
    steps = min(STEPS_MAX, max(STEPS_MIN, len(logs) // EACH))
    edges = np.linspace(logs.min(), max(logs.max(), logs.min() + LOG_MIN), steps + 1)
    counts, _ = np.histogram(logs, edges)
    fires = crowd is not None and crowd.fires
    return RatePicture(
        board=table.board.name,
        profile=table.profile,
        edition=table.edition,
        edges=tuple(rounded(float(edge)) for edge in np.exp(edges)),
        counts=tuple(int(count) for count in counts),
        crowd_low=crowd.number("low_per_s") if crowd and fires else None,
        crowd_high=crowd.number("high_per_s") if crowd and fires else None,
    )


def idle_cpus(table: Table) -> BoardFinding | None:
    """Entries in the faster half that leave CPUs of the server idle."""
    rows = [row for row in table.rated if row.cpus_used is not None]
    if not rows:
        return None
    # Those that are known, or what the busiest entries use.
    cpus = table.board.cpus or float(np.quantile([row.cpus_used or 0.0 for row in rows], 0.95))
    faster = rows[: math.ceil(len(rows) / 2)]
    idle = [row for row in faster if (row.cpus_used or 0) < IDLE_SHARE * cpus]
    return finding_of(
        "idle_cpus",
        table,
        judged=len(faster),
        values={"cpus": rounded(cpus), "cpus_known": "yes" if table.board.cpus else "no"},
        rows=_cpu_rows(sorted(idle, key=lambda row: (row.cpus_used or 0, row.entry))),
    )


def too_many_cpus(table: Table) -> BoardFinding | None:
    """Entries that used more CPUs than there are; None without the number of CPUs."""
    rows = [row for row in table.rated if row.cpus_used is not None]
    cpus = table.board.cpus
    if not rows or not cpus:
        return None
    over = [row for row in rows if (row.cpus_used or 0) > OVER_SHARE * cpus]
    return finding_of(
        "too_many_cpus",
        table,
        judged=len(rows),
        values={"cpus": cpus, "most": rounded(max(row.cpus_used or 0 for row in rows))},
        rows=_cpu_rows(sorted(over, key=lambda row: (-(row.cpus_used or 0), row.entry))),
    )


def _cpu_rows(rows: Sequence[Measurement]) -> list[dict[str, Figure]]:
    return [
        {
            "entry": row.entry,
            "rate_per_s": rounded(row.rate_per_s),
            "cpus": rounded(row.cpus_used or 0.0),
        }
        for row in rows
    ]
