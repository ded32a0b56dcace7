"""A board beside a run of ours: servers in both, their ratios, and where the orders disagree."""

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from deadheat.boards.checks.repeats import Noise
from deadheat.boards.model import Table
from deadheat.boards.readings import BoardFinding, Figure, finding_of, rounded
from deadheat.errors import DeadheatError
from deadheat.foreign_text import read_bytes
from deadheat.stats.agreement import tau_b, tau_interval
from deadheat.stats.ranking.decision import Verdict
from deadheat.stats.ranking.ranks import Ranking

NAMES = Path(__file__).parents[1] / "names.csv"
BYTES_MAX = 1 << 20
SHARED_MIN = 3
COLUMNS = ["board", "entry", "server"]

Names = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class OwnRun:
    """A run of ours at one level; `rates` are requests/s by server."""

    run_id: str
    connections: int
    rates: Mapping[str, float]
    ranking: Ranking


def read_names(path: Path = NAMES) -> dict[tuple[str, str], str]:
    """(board, entry) -> our server. Raises `DeadheatError` with file and line."""
    try:
        text = read_bytes(path, BYTES_MAX).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "expected UTF-8"
        raise DeadheatError(f"{path}: cannot be read: {reason}", "check the path") from error
    header, *rows = [*csv.reader(text.splitlines())] or [[]]
    if header != COLUMNS:
        raise DeadheatError(f"{path}:1: expected the columns {','.join(COLUMNS)}")
    names: dict[tuple[str, str], str] = {}
    for line, row in enumerate(rows, 2):
        if len(row) != len(COLUMNS):
            raise DeadheatError(f"{path}:{line}: expected {len(COLUMNS)} columns")
        names[row[0], row[1]] = row[2]
    return names


def beside(table: Table, own: OwnRun, names: Names, noise: Noise | None) -> BoardFinding | None:
    """None with fewer than `SHARED_MIN` servers in both."""
    theirs: dict[str, float] = {}
    entries: dict[str, str] = {}
    for row in table.rated:
        server = names.get((table.board.name, row.entry))
        if server is not None and server in own.rates and server not in theirs:
            theirs[server], entries[server] = row.rate_per_s, row.entry
    shared = sorted(theirs, key=lambda server: -own.rates[server])
    if len(shared) < SHARED_MIN:
        return None
    tau = tau_b([own.rates[each] for each in shared], [theirs[each] for each in shared])
    low, high = tau_interval(tau, len(shared))
    opposite = [
        (math.log(theirs[slower] / theirs[faster]), faster, slower)
        for a, b in combinations(shared, 2)
        for faster, slower in [_separated(own.ranking, a, b)]
        if faster and theirs[slower] > theirs[faster]
    ]
    opposite.sort(reverse=True)
    needed = noise.needed if noise else math.inf
    beyond = [each for each in opposite if each[0] > needed]
    first = shared[0]
    return finding_of(
        "beside",
        table,
        fires=bool(beyond),
        judged=len(shared) * (len(shared) - 1) // 2,
        found=len(beyond),
        values={
            "run": own.run_id,
            "connections": own.connections,
            "shared": len(shared),
            "tau_b": rounded(tau),
            "tau_low": rounded(low),
            "tau_high": rounded(high),
            "opposite": len(opposite),
            "farthest": f"{beyond[0][1]} before {beyond[0][2]}" if beyond else None,
            "reference": first,
        },
        rows=[
            {
                "entry": entries[server],
                "server": server,
                **_ratios(own.ranking, server, first, theirs[server] / theirs[first], needed),
            }
            for server in shared
        ],
    )


def _separated(ranking: Ranking, a: str, b: str) -> tuple[str, str]:
    """The faster and the slower of a pair; empty if the run does not separate them."""
    pair = ranking.pair(a, b)
    return (pair.faster, pair.slower) if pair.verdict is Verdict.SEPARATED else ("", "")


def _ratios(
    ranking: Ranking, server: str, first: str, theirs: float, needed: float
) -> dict[str, Figure]:
    """Our ratio of a server to the first one, the board's, and board over ours; with intervals.

    The last interval has the noise of both sides; without the board's noise it has no ends.
    """
    ours = _interval(ranking, server, first)
    names = ("ours", "ours_low", "ours_high")
    row: dict[str, Figure] = {name: rounded(end) for name, end in zip(names, ours, strict=True)}
    row |= {"theirs": rounded(theirs), "over": rounded(theirs / ours[0])}
    if server == first or not math.isfinite(needed) or ours[1] <= 0:
        return row | {"over_low": None, "over_high": None}
    down = math.hypot(math.log(ours[2] / ours[0]), needed)
    up = math.hypot(math.log(ours[0] / ours[1]), needed)
    over = theirs / ours[0]
    return row | {
        "over_low": rounded(over * math.exp(-down)),
        "over_high": rounded(over * math.exp(up)),
    }


def _interval(ranking: Ranking, server: str, first: str) -> tuple[float, float, float]:
    """Our ratio with its ends."""
    if server == first:
        return 1.0, 1.0, 1.0
    pair = ranking.pair(server, first)
    ratio = pair.ratio
    if pair.faster == server:
        return ratio.ratio, ratio.low, ratio.high
    return 1 / ratio.ratio, 1 / ratio.high, 1 / ratio.low if ratio.low > 0 else math.inf
