"""A bar of text for a share of the fastest, with a whisker for its interval."""

import math

from deadheat import numbers

AXIS_MIN = 12
TOP_MAX = 1.25  # of the fastest, at the right end: an interval may pass it
FULL, HATCHED, FADED, LINE, LOW, HIGH = "█", "▒", "░", "─", "├", "┤"


def bar(ratio: float, low: float, high: float, cells: int, top: float) -> str:
    """A bar of at most `cells` characters, in which `top` times the fastest reaches the end.

    A known interval is a whisker around the end of the bar. An unknown one fades out to the end.
    A NaN `ratio` has no bar.
    """
    if math.isnan(ratio):
        return ""
    end = _cell(ratio, cells, top)
    if not numbers.is_known(low, high):
        return FULL * (end // 2) + HATCHED * (end - end // 2) + FADED * (cells - end)
    first, last = _cell(low, cells, top), _cell(high, cells, top)
    if last - first < 2:
        return FULL * end
    signs = [FULL if place < end else LINE for place in range(last)]
    signs[first:last] = [LINE] * (last - first)
    signs[first], signs[-1] = LOW, HIGH if high <= top else FADED
    signs[min(max(end - 1, first), last - 1)] = FULL
    return "".join(signs)


def plain_bar(ratio: float, cells: int, top: float) -> str:
    """A hatched bar: a share without a rank."""
    return "" if math.isnan(ratio) else HATCHED * _cell(ratio, cells, top)


def axis(cells: int, top: float) -> str:
    """`0        50        100` above the bars; empty if there is no room."""
    signs = [" "] * cells
    signs[0] = "0"
    for text, ratio in (("50", 0.5), ("100", 1.0)):
        end = _cell(ratio, cells, top)
        signs[end - len(text) : end] = text
    return "".join(signs).rstrip() if cells >= AXIS_MIN else ""


def _cell(ratio: float, cells: int, top: float) -> int:
    """How many cells a share fills: at least one."""
    return min(cells, max(1, round(ratio / top * cells)))
