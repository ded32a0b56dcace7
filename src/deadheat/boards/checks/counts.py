"""What the counts of a row say: failures, requests without an end, and impossible percentiles."""

import statistics
from itertools import pairwise

from deadheat.boards.model import Measurement, Table
from deadheat.boards.readings import BoardFinding, Figure, finding_of, rounded

FAILED_SHARE = 1e-3
EXPECTED_MIN = 1e-9  # requests
COUNT_OFF = 0.05  # of the requests
EQUAL_SHARE = 0.5  # of a profile's rows: then its p99 is the mean


def failures(table: Table) -> BoardFinding | None:
    """Rows whose requests failed by status, had no answer, or ended in neither."""
    rows = [
        row
        for row in table.rows
        if row.failed is not None or row.errors is not None or row.requests is not None
    ]
    if not rows:
        return None
    failing = [(share, row) for row in rows if (share := failed_share(row)) > FAILED_SHARE]
    failing.sort(key=lambda item: (-item[0], item[1].entry))
    return finding_of(
        "failures",
        table,
        judged=len(rows),
        values={"largest_share": rounded(max(map(failed_share, rows)))},
        rows=[
            {
                "entry": row.entry,
                "rate_per_s": rounded(row.rate_per_s),
                "failed": row.failed or 0,
                "errors": row.errors or 0,
                "neither": in_neither(row),
                "share": rounded(share),
            }
            for share, row in failing
        ],
    )


def failed_share(row: Measurement) -> float:
    """Requests that failed or ended in neither an answer nor an error, as a share of all."""
    bad = (row.failed or 0) + (row.errors or 0) + in_neither(row)
    good = row.ok if row.ok is not None else row.rate_per_s * (row.duration_s or 1.0)
    return bad / (bad + good) if bad else 0.0


def in_neither(row: Measurement) -> int:
    """Requests without an answer, a failure or an error; 0 if the file does not count them all."""
    if row.requests is None or row.ok is None:
        return 0
    return max(row.requests - row.ok - (row.failed or 0) - (row.errors or 0), 0)


def unended(table: Table) -> BoardFinding | None:
    """Rows whose rate is not their answers over their time.

    If most rows of a profile are off by one factor, its time is not the one that it states.
    """
    factors = {row.entry: factor for row in table.rated if (factor := counted(row)) is not None}
    if not factors:
        return None
    center = statistics.median(factors.values())
    off = center if abs(center - 1) > COUNT_OFF else 1.0
    rows = [
        row
        for row in table.rated
        if row.entry in factors and abs(factors[row.entry] / off - 1) > COUNT_OFF
    ]
    rows.sort(key=lambda row: (-abs(factors[row.entry] / off - 1), row.entry))
    duration_s = next((row.duration_s for row in table.rated if row.duration_s), None)
    return finding_of(
        "unended",
        table,
        fires=off != 1 or bool(rows),
        judged=len(factors),
        values={"off": rounded(off), "duration_s": duration_s},
        rows=[
            {
                "entry": row.entry,
                "rate_per_s": rounded(row.rate_per_s),
                "counted_per_s": rounded(row.rate_per_s * factors[row.entry]),
                "factor": rounded(factors[row.entry]),
            }
            for row in rows
        ],
    )


def counted(row: Measurement) -> float | None:
    """Answers over rate x time; 1 if each request of the rate is a counted answer."""
    ended = row.ok if row.ok is not None else row.requests
    expected = row.rate_per_s * (row.duration_s or 0.0)
    return ended / expected if ended and expected > EXPECTED_MIN else None


def equal_percentiles(table: Table) -> BoardFinding | None:
    """Rows whose p99 is their mean, to the last digit."""
    rows = [row for row in table.rated if row.p99_s is not None and row.mean_s is not None]
    if not rows:
        return None
    equal = [row for row in rows if row.p99_s == row.mean_s]
    return finding_of(
        "equal_percentiles",
        table,
        judged=len(rows),
        values={"whole_profile": "yes" if len(equal) >= EQUAL_SHARE * len(rows) else "no"},
        rows=[_latencies(row) for row in equal],
    )


def falling_percentiles(table: Table) -> BoardFinding | None:
    """Rows in which a higher percentile is below a lower one. A mean above p99 is possible."""
    rows = [row for row in table.rated if len(percentiles(row)) > 1 or row.mean_s is not None]
    if not rows:
        return None
    falling = [row for row in rows if any(low > high for low, high in pairwise(percentiles(row)))]
    return finding_of(
        "falling_percentiles",
        table,
        judged=len(rows),
        values={},
        rows=[_latencies(row) for row in falling],
    )


def percentiles(row: Measurement) -> list[float]:
    steps = (row.p50_s, row.p75_s, row.p90_s, row.p99_s)
    return [value for value in steps if value is not None]


def unreadable(table: Table) -> BoardFinding | None:
    """Rows of any edition with a text in place of a latency, or without a rate."""
    rows = table.board.of(table.profile)
    unusable = [row for row in rows if row.unreadable or row.rate_per_s <= 0]
    return finding_of(
        "unreadable",
        table,
        judged=len(rows),
        values={},
        rows=[
            {
                "entry": row.entry,
                "edition": row.edition,
                "rate_per_s": rounded(row.rate_per_s),
                "text": ", ".join(row.unreadable) or "no rate",
            }
            for row in unusable
        ],
    )


def _latencies(row: Measurement) -> dict[str, Figure]:
    values = {"mean": row.mean_s, "p50": row.p50_s, "p90": row.p90_s, "p99": row.p99_s}
    return {"entry": row.entry} | {
        f"{name}_ms": None if value is None else rounded(1000 * value)
        for name, value in values.items()
    }
