"""The verdict of an interval about two contenders, and the effort to decide an undecided pair."""

import math
from dataclasses import dataclass
from enum import StrEnum

from deadheat.stats.ratio import Ratios


class Verdict(StrEnum):
    """What the data say about one pair at the stated confidence."""

    SEPARATED = "separated"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Effort:
    """What an undecided pair needs at its present difference and variance.

    `extra_invocations` is 0 if more blocks in the present invocations are enough; otherwise
    `extra_blocks` are spread over that many new invocations.
    """

    extra_blocks: int
    extra_invocations: int


def judge(log_ratio: float, half_width: float, separated: bool, margin: float) -> Verdict:
    """The verdict of an interval of the log-ratio; `margin` 0.03 means within 3 %.

    Equivalent if the whole interval lies within the margin, even if it excludes 1: a
    difference that is known to be too small to matter is a dead heat (two one-sided tests,
    Schuirmann 1987). Otherwise separated if the interval excludes 1. The two questions need
    no further correction: for a given truth, at most one of the two answers can be false.
    """
    if math.isnan(half_width):
        return Verdict.UNDECIDED
    if abs(log_ratio) + half_width < math.log1p(margin):
        return Verdict.EQUIVALENT
    return Verdict.SEPARATED if separated else Verdict.UNDECIDED


def effort(ratios: Ratios, a: int, b: int, margin: float) -> Effort | None:
    """Blocks that an undecided pair still needs; None if there is no interval yet.

    The half width must fall below the difference (to separate) or below the rest of the
    margin (to be equivalent), whichever is wider. Its variance is
    (start_variance + slice_variance / n) / invocations with n blocks in each. More blocks
    in place shrink only the second part; new invocations shrink both.
    """
    fits, half_width = ratios.fits, float(ratios.half_width[a, b])
    if math.isnan(half_width):
        return None
    difference = abs(float(fits.log_ratio[a, b]))
    wanted = max(difference, math.log1p(margin) - difference)
    shrink = (wanted / half_width) ** 2
    blocks, invocations = int(fits.blocks[a, b]), int(fits.invocations[a, b])
    per_invocation = blocks / invocations
    slices, starts = float(fits.slice_variance[a, b]), float(fits.start_variance[a, b])

    fresh = max(math.floor(blocks / shrink) + 1 - blocks, 0)
    left_for_slices = (starts + slices / per_invocation) * shrink - starts
    if left_for_slices > 0:
        in_place = math.floor(slices / left_for_slices * invocations) + 1 - blocks
        if in_place <= 2 * fresh:
            return Effort(max(in_place, 0), 0)
    return Effort(fresh, math.ceil(fresh / per_invocation))
