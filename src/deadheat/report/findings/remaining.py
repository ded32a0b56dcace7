"""What undecided pairs still need, and which difference a reasonable time would settle."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from deadheat import numbers
from deadheat.report.findings.analysis import Analysis
from deadheat.report.model.view import RunView
from deadheat.stats.ranking import Pair

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Remaining:
    """What one undecided pair still needs, in a race of these two alone.

    `time_s` is None if the data do not say. `least` is the smallest difference that `reasonable_s`
    would separate: 0.004 is 0.4 %. None if the data do not say, or if it is above 100 %.
    """

    time_s: float | None
    reasonable_s: float
    least: float | None

    @property
    def too_close(self) -> bool:
        return self.time_s is not None and self.time_s > self.reasonable_s

    @property
    def text(self) -> str:
        """`below 0.4 %: too close to settle in an hour`, if it is."""
        if not self.too_close:
            return ""
        if self.least is None:
            return f"too uncertain to settle in {time_text(self.reasonable_s)}"
        least = numbers.percent(self.least, 0 if self.least >= 0.1 else 1)
        return f"below {least}: too close to settle in {time_text(self.reasonable_s)}"


def reasonable_s(view: RunView) -> float:
    """An hour, or as long again as a race that took longer."""
    return max(HOUR_S, float(view.race_s or 0.0))


def time_text(time_s: float) -> str:
    return "an hour" if time_s == HOUR_S else numbers.duration(time_s)


def remaining(view: RunView, analysis: Analysis, pair: Pair) -> Remaining:
    """What `pair` still needs; a race of two spends its time on fewer contenders than this one."""
    limit_s = reasonable_s(view)
    block_s = block_of(view, analysis, 2)
    if block_s is None or pair.effort is None or pair.outlook is None:
        return Remaining(None, limit_s, None)
    extra_blocks = max(limit_s / block_s - pair.ratio.blocks, 0.0)
    half_width = min(
        pair.outlook.half_width(extra_blocks), pair.outlook.half_width_in_place(extra_blocks)
    )
    least = math.expm1(half_width) if half_width < math.log(2) else None
    return Remaining((pair.ratio.blocks + pair.effort.extra_blocks) * block_s, limit_s, least)


def too_close(view: RunView, analysis: Analysis, pairs: Sequence[Pair]) -> list[Pair]:
    """Those of the pairs that a reasonable time would not decide."""
    return [pair for pair in pairs if remaining(view, analysis, pair).too_close]


def block_of(view: RunView, analysis: Analysis, contenders: int) -> float | None:
    """About the time for a block of so many contenders on one workload, in seconds."""
    if analysis.block_s is None:
        return None
    controls = len(view.controls)
    measured = sum(bool(contender.cells) for contender in view.contenders)
    share = (contenders + controls) / max(measured + controls, contenders + controls)
    return analysis.block_s * share / max(len(view.workloads), 1)
