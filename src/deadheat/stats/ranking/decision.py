"""The verdict of an interval about two contenders, and the effort to decide an undecided pair."""

import bisect
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats, t_critical
from deadheat.stats.ranking.ratio import Ratios

MOST_BLOCKS = 10_000_000  # of an effort: years


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


def judge(
    log_ratio: Floats, half_width: Floats, separated: npt.NDArray[np.bool_], margin: float
) -> npt.NDArray[np.object_]:
    """The verdicts of intervals of log-ratios; `margin` 0.03 means within 3 %.

    Equivalent if the whole interval lies within the margin, even if it excludes 1: a
    difference that is known to be too small to matter is a dead heat (two one-sided tests,
    Schuirmann 1987). Otherwise separated if the interval excludes 1. The two questions need
    no further correction: for a given truth, at most one of the two answers can be false.
    """
    with np.errstate(invalid="ignore"):
        equivalent = np.abs(log_ratio) + half_width < math.log1p(margin)
    place = np.where(equivalent, 2, separated & ~np.isnan(half_width))
    return np.asarray(
        np.array([Verdict.UNDECIDED, Verdict.SEPARATED, Verdict.EQUIVALENT], object)[place]
    )


def effort(ratios: Ratios, a: int, b: int, margin: float) -> Effort | None:
    """Blocks that an undecided pair still needs; None if there is no interval yet.

    The half width must fall below the difference (to separate) or below the rest of the
    margin (to be equivalent), whichever is wider.
    """
    outlook = outlook_of(ratios, a, b)
    if outlook is None:
        return None
    difference = abs(outlook.log_ratio)
    return effort_until(outlook, max(difference, math.log1p(margin) - difference))


def effort_until(outlook: "Outlook", wanted: float) -> Effort:
    """What it takes until the half width of the interval is at most `wanted`, a log-ratio."""
    fresh = _fewest(lambda extra: outlook.half_width(extra) <= wanted, MOST_BLOCKS)
    in_place = _fewest(lambda extra: outlook.half_width_in_place(extra) <= wanted, 2 * fresh)
    if outlook.half_width_in_place(in_place) <= wanted:
        return Effort(in_place, 0)
    return Effort(fresh, math.ceil(fresh / outlook.blocks * outlook.invocations))


def effort_to_detect(outlook: "Outlook", ratio: float) -> Effort:
    """What it takes until a difference of `ratio` (0.03 is 3 %) is shown with 80 % power."""
    fresh = _fewest(lambda extra: outlook.detectable(extra) <= math.log1p(ratio), MOST_BLOCKS)
    return Effort(fresh, math.ceil(fresh / outlook.blocks * outlook.invocations))


@dataclass(frozen=True)
class Outlook:
    """How the interval of one log-ratio narrows with more data.

    `half_width_now` is without the `disagreement`, which stays. The variance behind it is
    (start_variance + slice_variance / n) / invocations with n blocks in each. More blocks in place
    shrink only the second part; new invocations shrink both, and add degrees of freedom: after few
    starts, an interval is wide because their scatter is hardly known.
    """

    log_ratio: float
    half_width_now: float
    disagreement: float
    blocks: int
    invocations: int
    slice_variance: float
    start_variance: float
    degrees: float
    alpha: float

    def half_width(self, extra_blocks: float) -> float:
        """After so many more blocks in new invocations."""
        growth = 1 + extra_blocks / self.blocks
        now, then = (_critical(self.alpha, self.degrees * times) for times in (1, growth))
        return self.disagreement + self.half_width_now * then / now / math.sqrt(growth)

    def detectable(self, extra_blocks: float, power: float = 0.8) -> float:
        """The log-ratio that is shown with this power after so many more blocks."""
        degrees = self.degrees * (1 + extra_blocks / self.blocks)
        more = _critical(2 * (1 - power), degrees) / _critical(self.alpha, degrees)
        return self.half_width(extra_blocks) * (1 + more) - self.disagreement * more

    def half_width_in_place(self, extra_blocks: float) -> float:
        """After so many more blocks in the present invocations."""
        slices = self.slice_variance * self.invocations / self.blocks
        now = self.start_variance + slices
        then = self.start_variance + slices / (1 + extra_blocks / self.blocks)
        share = math.sqrt(then / now) if now > 0 else 1.0
        return self.disagreement + self.half_width_now * share


def outlook_of(ratios: Ratios, a: int, b: int) -> Outlook | None:
    """None if there is no interval yet."""
    fits = ratios.fits
    half_width, disagreement = float(ratios.half_width[a, b]), float(fits.disagreement[a, b])
    if math.isnan(half_width):
        return None
    return Outlook(
        log_ratio=float(fits.log_ratio[a, b]),
        half_width_now=half_width - disagreement,
        disagreement=disagreement,
        blocks=int(fits.blocks[a, b]),
        invocations=int(fits.invocations[a, b]),
        slice_variance=float(fits.slice_variance[a, b]),
        start_variance=float(fits.start_variance[a, b]),
        degrees=float(fits.degrees_of_freedom[a, b]),
        alpha=ratios.alpha_left,
    )


def _fewest(enough: Callable[[int], bool], most: int) -> int:
    """The fewest blocks that are enough, or `most`; more never become too few."""
    return bisect.bisect_left(range(most), True, key=enough)


def _critical(alpha: float, degrees: float) -> float:
    """Student's two-sided t, interpolated, because an effort asks for it at many degrees."""
    return math.exp(float(np.interp(math.log(degrees), *_criticals(alpha))))


@functools.lru_cache(maxsize=64)
def _criticals(alpha: float) -> tuple[Floats, Floats]:
    """The logs of 400 degrees of freedom, and of Student's t at each."""
    degrees = np.geomspace(0.3, 1e5, 400)
    return np.log(degrees), np.log(t_critical(alpha / 2, degrees))
