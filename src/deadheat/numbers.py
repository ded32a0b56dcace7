"""Numbers, durations, intervals and lists as short texts, the same everywhere.

`web/src/numbers.js` writes them for the page. `tests/number_cases.json` tests both.
"""

import datetime
import math
from collections.abc import Sequence

NONE = "–"
UNKNOWN = "[unknown]"
UNKNOWN_FACTOR = 30.0  # high / low of an interval above which it counts as unknown
MIB = 1024 * 1024
GIB = 1024 * MIB


def is_known(low: float | None, high: float | None) -> bool:
    """Whether the interval of a ratio is narrow enough to say something."""
    if low is None or high is None:
        return False
    return math.isfinite(high) and high <= UNKNOWN_FACTOR * low


def rate(per_s: float | None) -> str:
    """Requests per second."""
    return NONE if per_s is None else figure(per_s)


def figure(value: float) -> str:
    """A number with three digits, or as a whole number from 100 on."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def milliseconds(us: float | None) -> str:
    """Three digits, at most three of them decimals: the histograms are no more precise."""
    if us is None:
        return NONE
    ms = us / 1000
    decimals = 3 if ms < 1 else 2 if ms < 10 else 1 if ms < 100 else 0
    return f"{ms:,.{decimals}f}"


def microseconds(us: float | None) -> str:
    if us is None:
        return NONE
    return f"{us:.1f}" if us < 100 else f"{us:,.0f}"


def mebibytes(size_bytes: float | None) -> str:
    if size_bytes is None:
        return NONE
    return f"{size_bytes / MIB:.1f}" if size_bytes < 10 * MIB else f"{size_bytes / MIB:,.0f}"


def gibibytes(size_bytes: float) -> str:
    return f"{size_bytes / GIB:,.1f}"


def percent(share: float, decimals: int = 1) -> str:
    """`4.0 %`, from a share of 1."""
    return f"{100 * share:,.{decimals}f} %"


def signed_percent(share: float, decimals: int = 0) -> str:
    """`+4 %` or `-4 %`, from a share of 1."""
    return f"{100 * share:+,.{decimals}f} %"


def signless(value: float, decimals: int = 1) -> str:
    """A number without a minus in front of zero."""
    text = f"{value:,.{decimals}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def of_leader(
    ratio: float | None, low: float | None, high: float | None, ranked: bool = True
) -> str:
    """`75.9 [66.6–86.6]`: percent of the leader's rate, with its interval.

    `75.9 [unknown]` if the interval is too wide to say anything; only `75.9` for what has no rank.
    """
    if ratio is None or math.isnan(ratio):
        return NONE
    if low == high == 1:
        return "100"
    text = f"{100 * ratio:.1f}"
    if low is None or high is None or not is_known(low, high):
        return f"{text} {UNKNOWN}" if ranked else text
    return f"{text} [{100 * low:.1f}–{100 * high:.1f}]"


def excess(ratio: float, low: float, high: float) -> tuple[str, tuple[str, str] | None]:
    """How far a ratio is above 1 in percent, and its interval; None if that is unknown.

    From 10 % on without decimals.
    """
    decimals = 0 if abs(100 * (ratio - 1)) >= 10 else 1
    middle = signless(100 * (ratio - 1), decimals)
    return middle, (ends(low, high, decimals) if is_known(low, high) else None)


def ends(low: float, high: float, decimals: int = 1) -> tuple[str, str]:
    """The interval of a ratio, as percent above 1. One that begins at 1 excludes it: `>0`."""
    first, last = (signless(100 * (end - 1), decimals) for end in (low, high))
    return (">0" if low >= 1 and float(first.replace(",", "")) == 0 else first), last


def reading(value: float, unit: str | None, more: int = 0) -> str:
    """A gate's reading with its unit; `more` is the number of extra decimals of a percentage."""
    match unit:
        case "share":
            decimals = more if abs(value) >= 0.1 else 1 + more
            return f"{100 * value:,.{decimals}f}".removesuffix(".0") + " %"
        case "us":
            return f"{value:,.0f} µs"
        case "per_10k":
            return f"{figure(value)} per 10,000 requests"
    return figure(value)


def reading_and_limit(read: float, limit: float, unit: str | None) -> tuple[str, str]:
    """A reading and its limit, with as few decimals as make them differ."""
    texts = (reading(read, unit), reading(limit, unit))
    for more in (1, 2, 3):
        if texts[0] == texts[1]:
            texts = (reading(read, unit, more), reading(limit, unit, more))
    return texts


def duration(duration_s: float | None) -> str:
    """`300 ms`, `45 s`, `3 min 20 s`, `2 h 5 min`: three digits, then whole parts."""
    if duration_s is None:
        return NONE
    if duration_s < 1:
        return f"{duration_s * 1000:.0f} ms"
    if duration_s < 59.5:
        return f"{duration_s:.3g} s"
    minutes, rest_s = divmod(round(duration_s), 60)
    if minutes < 60:
        return f"{minutes} min {rest_s} s" if rest_s else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def moment(at: datetime.datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def count(number: int, noun: str) -> str:
    """`1 trial`, `2 trials`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ranges(cpus: Sequence[int]) -> str:
    """A set of CPUs as Linux writes it, such as `0-3,6`."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1].append(cpu)
        else:
            runs.append([cpu])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def listing(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
