"""Indirect comparison of contenders that shared no block, through one that ran with both."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from deadheat.stats.pairs import PairFits
from deadheat.stats.rounding import without_rounding


def fill_indirect(fits: PairFits) -> PairFits:
    """Fill in each pair that shares no block, through the third contender that is most precise.

    ln(a / c) = ln(a / b) + ln(b / c), with variances added (Bucher et al. 1997) and degrees
    of freedom by Welch and Satterthwaite. The heats of a race share the controls for this.
    What the machine changes between heats cancels only as far as it affects a contender and
    the control alike. Pairs without a third contender stay as they are.
    """
    variance = fits.standard_error**2
    legs = variance[:, :, None] + variance[None, :, :]
    third = np.where(np.isnan(legs), np.inf, legs).argmin(axis=1)
    connected = np.isfinite(legs).any(axis=1) & ~np.eye(fits.contenders, dtype=bool)
    missing = np.isnan(fits.log_ratio) & connected
    first, last = np.indices(missing.shape)

    def joined(matrix: Any, join: Callable[[Any, Any], Any]) -> Any:
        return np.where(missing, join(matrix[first, third], matrix[third, last]), matrix)

    standard_error = joined(fits.standard_error, np.hypot)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = variance**2 / fits.degrees_of_freedom
        welch = standard_error**4 / joined(share, np.add)
    return replace(
        fits,
        log_ratio=without_rounding(joined(fits.log_ratio, np.add)),
        standard_error=standard_error,
        degrees_of_freedom=np.where(missing, welch, fits.degrees_of_freedom),
        slice_variance=joined(fits.slice_variance, np.add),
        start_variance=joined(fits.start_variance, np.add),
        blocks=joined(fits.blocks, np.minimum),
        invocations=joined(fits.invocations, np.minimum),
        indirect=missing,
    )
