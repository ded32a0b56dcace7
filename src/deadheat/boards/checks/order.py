"""What of an order survives the board's own noise, and what changes from edition to edition."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from deadheat.boards.checks.repeats import Noise
from deadheat.boards.model import Table, days_between
from deadheat.boards.readings import (
    ROWS_MAX,
    BoardFinding,
    PlacedEntry,
    RankPicture,
    finding_of,
    rounded,
)
from deadheat.stats.agreement import tau_b, tau_interval

PICTURED = 50
COMMON_MIN = 10  # entries that two editions need in common


def places(table: Table, needed: float) -> list[PlacedEntry]:
    """For each rated row, the first and the last place that the noise allows.

    One place behind each entry that is faster by more than `needed`, a log; and so from below.
    """
    logs = np.log([row.rate_per_s for row in table.rated])
    faster = (logs[None, :] - logs[:, None] > needed).sum(axis=1)
    slower = (logs[:, None] - logs[None, :] > needed).sum(axis=1)
    return [
        PlacedEntry(
            entry=row.entry,
            rate_per_s=rounded(row.rate_per_s),
            first=1 + int(above),
            last=len(logs) - int(below),
        )
        for row, above, below in zip(table.rated, faster, slower, strict=True)
    ]


def survives(table: Table, noise: Noise | None) -> BoardFinding | None:
    """How many neighbors differ by more than measurements of unchanged source do."""
    rows = table.rated
    if noise is None or len(rows) < 2:
        return None
    needed = noise.needed
    placed = places(table, needed)
    gaps = [math.log(a.rate_per_s / b.rate_per_s) for a, b in pairwise(rows)]
    separated = sum(gap > needed for gap in gaps)
    first = [row for row in rows if math.log(rows[0].rate_per_s / row.rate_per_s) <= needed]
    widths = [entry.last - entry.first + 1 for entry in placed]
    return finding_of(
        "survives",
        table,
        fires=separated < len(gaps),
        judged=len(gaps),
        found=len(gaps) - separated,
        values={
            "separated": separated,
            "needed": rounded(math.expm1(needed)),
            "needed_jointly": rounded(math.expm1(noise.jointly(len(rows)))),
            "with_first": len(first),
            "median_places": int(np.median(widths)),
            "most_places": max(widths),
            "median_gap": rounded(math.expm1(float(np.median(gaps)))),
        },
        rows=[entry.model_dump() for entry in placed[:ROWS_MAX]],
    )


def picture(table: Table, noise: Noise) -> RankPicture:
    placed = places(table, noise.needed)
    return RankPicture(
        board=table.board.name,
        profile=table.profile,
        edition=table.edition,
        entries=len(placed),
        placed=tuple(placed[:PICTURED]),
    )


def editions(table: Table, noise: Noise | None) -> tuple[BoardFinding, ...]:
    """Each whole edition beside the one before: what moved, and whether its source changed."""
    whole = table.board.whole_editions(table.profile)
    compared = [_beside(table, pair, noise) for pair in pairwise(whole)]
    return tuple(finding for finding in compared if finding is not None)


def _beside(table: Table, editions: tuple[str, str], noise: Noise | None) -> BoardFinding | None:
    before, after = (table.board.edition(table.profile, edition) for edition in editions)
    common = [
        entry
        for entry, row in after.items()
        if entry in before and row.rate_per_s > 0 and before[entry].rate_per_s > 0
    ]
    if len(common) < COMMON_MIN:
        return None
    rates = np.array([[rows[entry].rate_per_s for entry in common] for rows in (before, after)])
    changes = np.log(rates[1] / rates[0])
    carried = np.array([before[entry].figures == after[entry].figures for entry in common])
    shift = float(np.median(changes[~carried])) if (~carried).any() else 0.0
    tau = tau_b(*rates)
    low, high = tau_interval(tau, len(common))
    ranks = [1 + (several[None, :] > several[:, None]).sum(axis=1) for several in rates]
    moved = np.abs(ranks[1] - ranks[0])
    apart = np.where(carried, 0.0, np.abs(changes - shift))
    beyond = apart > (noise.needed if noise else math.inf)
    sources = [(before[entry].source, after[entry].source) for entry in common]
    unchanged = np.array([first is not None and first == last for first, last in sources])
    order = np.argsort(-moved, kind="stable")
    measured = int((~carried).sum())
    return finding_of(
        "editions",
        replace(table, edition=editions[1]),
        fires=bool(moved.any()) or bool(carried.any()),
        judged=len(common),
        found=int(beyond.sum()),
        values={
            "before": editions[0],
            "days": None if (gap := days_between(*editions)) is None else rounded(gap, 3),
            "carried": int(carried.sum()),
            "measured": measured,
            "tau_b": rounded(tau),
            "tau_low": rounded(low),
            "tau_high": rounded(high),
            "median_moved": int(np.median(moved)),
            "most_moved": int(moved.max()),
            "moved_by": str(common[int(order[0])]),
            "median_change": rounded(math.expm1(float(np.median(apart[~carried]))))
            if measured
            else None,
            "beyond_unchanged": int((beyond & unchanged).sum()),
            "known_sources": sum(first is not None for first, _ in sources),
            "unchanged": int((unchanged & ~carried).sum()),
        },
        rows=[
            {
                "entry": common[place],
                "rank_before": int(ranks[0][place]),
                "rank": int(ranks[1][place]),
                "ratio": rounded(math.exp(changes[place])),
                "source": "unchanged" if unchanged[place] else "changed or unknown",
            }
            for place in order[:ROWS_MAX].tolist()
            if moved[place]
        ],
    )
