"""What is 0 but for rounding.

Processors and libraries round differently, so no decision may depend on the last bit. Relative
errors and logarithms of rates hold about 15 digits; no rate is measured to 12.
"""

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats

RESOLUTION = 1e-12


def without_rounding(values: Floats) -> Floats:
    """`values` of logarithms or relative errors, with 0 for those closer to 0 than any rate is."""
    return np.where(np.abs(values) < RESOLUTION, 0.0, values)


def falling(values: Floats) -> npt.NDArray[np.intp]:
    """The order of these logarithms, largest first; those alike but for rounding stay put."""
    order = np.argsort(-values, kind="stable")
    if not len(order):
        return order
    steps = -np.diff(values[order]) >= RESOLUTION
    return order[np.lexsort((order, np.concatenate(([0], np.cumsum(steps)))))]
