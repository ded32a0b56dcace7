"""Student's t, and what is 0 but for rounding.

`scipy.special` takes longer to import than the rest of a command, so each function imports it.

Processors and libraries round differently, so no decision may depend on the last bit. Relative
errors and logarithms of rates hold about 15 digits; no rate is measured to 12.
"""

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

NORMAL = NormalDist()

_FARTHEST = 1e100  # the largest t that is a number here; its square is still a float


def t_tail(t: npt.ArrayLike, degrees: npt.ArrayLike) -> Floats:
    """P(T > t) for Student's t with `degrees` degrees of freedom, elementwise."""
    from scipy import special

    return np.asarray(special.stdtr(_floats(degrees), -_floats(t)))


def t_critical(tail: float, degrees: npt.ArrayLike) -> Floats:
    """The t with P(T > t) = `tail`, for 0 < tail < 0.5; NaN where `degrees` is NaN.

    It is infinite where it exceeds 1e100, as with far less than one degree of freedom.
    """
    from scipy import special

    if not 0 < tail < 0.5:
        raise ValueError(f"tail probability {tail}: expected a number between 0 and 0.5")
    critical = -np.asarray(special.stdtrit(_floats(degrees), tail))
    return np.where(critical > _FARTHEST, np.inf, critical)


def _floats(values: npt.ArrayLike) -> Floats:
    return np.asarray(values, dtype=np.float64)


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
