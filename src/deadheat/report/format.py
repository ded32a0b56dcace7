"""Numbers, durations and foreign text as short texts, the same in every format."""

import datetime
from collections.abc import Sequence

from deadheat.duration import spell_duration
from deadheat.foreign_text import escaped
from deadheat.host.fingerprint import Fingerprint
from deadheat.intervals import is_known as is_known
from deadheat.store import Unit
from deadheat.workload import HELLO

NONE = "–"
MIB = 1024 * 1024
TEXT_MAX = 300
UNKNOWN = "[unknown]"


def plain(text: str, longest: int = TEXT_MAX) -> str:
    """Foreign text on one line, with control and direction characters escaped, cut if long."""
    words = " ".join(text.split())
    shown = escaped(words[:longest])
    return f"{shown}…" if len(words) > longest else shown


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


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %"


def signless(value: float, digits: int = 1) -> str:
    """A number without a minus in front of zero."""
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def excess(ratio: float, low: float, high: float) -> tuple[str, tuple[str, str] | None]:
    """How far a ratio is above 1 in percent, and its interval; None if that is unknown.

    From 10 % on without decimals.
    """
    digits = 0 if abs(100 * (ratio - 1)) >= 10 else 1
    middle = signless(100 * (ratio - 1), digits)
    return middle, (ends(low, high, digits) if is_known(low, high) else None)


def ends(low: float, high: float, digits: int = 1) -> tuple[str, str]:
    """The interval of a ratio, as percent above 1. One that begins at 1 excludes it: `>0`."""
    first, last = (signless(100 * (end - 1), digits) for end in (low, high))
    return (">0" if low >= 1 and float(first.replace(",", "")) == 0 else first), last


def reading(value: float, unit: Unit | None, more: int = 0) -> str:
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


def reading_and_limit(read: float, limit: float, unit: Unit | None) -> tuple[str, str]:
    """A reading and its limit, with as few decimals as make them differ."""
    texts = (reading(read, unit), reading(limit, unit))
    for more in (1, 2, 3):
        if texts[0] == texts[1]:
            texts = (reading(read, unit, more), reading(limit, unit, more))
    return texts


def duration(seconds: float | None) -> str:
    """`45 s`, `3 min 20 s`, `2 h 5 min`."""
    return NONE if seconds is None else spell_duration(seconds)


def moment(at: datetime.datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


UNENDED = {
    "running": "the run is still under way",
    "lost": "the run ended without a conclusion (its process is gone)",
    "unended": "the run has no recorded end; this machine cannot see whether it is still under way",
}


def load(workload: str, connections: int) -> str:
    """A level in a table: `1,000`, or `route, 1,000`."""
    name = "" if workload == HELLO else f"{plain(workload, 40)}, "
    return f"{name}{connections:,}"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def ranges(numbers: Sequence[int]) -> str:
    """A set of CPUs as Linux writes it, such as `0-3,6`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def listing(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def machine(fingerprint: Fingerprint) -> str:
    """A host in one line."""
    cpu = fingerprint.cpu
    parts = [
        cpu.model or "unknown processor",
        count(cpu.logical, "CPU"),
        f"{fingerprint.memory_total_bytes / MIB / 1024:.1f} GiB",
    ]
    if cpu.virtual_machine:
        parts.append("virtual machine")
    if cpu.idle.wake_up_us is not None:
        parts.append("idle CPUs kept awake")
    parts += [text for text in (fingerprint.os, fingerprint.kernel) if text]
    return plain(", ".join(parts))
