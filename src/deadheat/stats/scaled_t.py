"""The scaled t distribution that has the tails of a normal one whose variance is uncertain.

Two tail probabilities fix its scale and its degrees of freedom: that of one comparison at 95 %, and
that of one among a hundred. Matching two moments of the precision instead (Satterthwaite) takes a
variance that may be tiny for one that may be huge, and gives far too few degrees.
"""

import functools
import math

import numpy as np

from deadheat.stats.distributions import Floats, t_critical

_TAILS = (0.05, 0.0005)  # two-sided
_DISTANCES = np.exp(np.linspace(-9.0, 10.0, 500))  # of an error, in units of the variances' root
_DEGREES = np.geomspace(0.3, 1000.0, 400)


def scaled_t(weights: Floats, log_variances: Floats) -> tuple[Floats, Floats]:
    """Squared scales and degrees of freedom, one for each row of `weights`.

    `weights` [row, grid] are the probabilities of the `log_variances` [grid]; each row sums to 1.
    The scale is right to about 1 %; degrees are at least 0.3 and at most 1000.
    """
    beyond = weights @ _beyond(log_variances.tobytes())
    near, far = (_crossing(beyond, tail) for tail in _TAILS)
    near_t, far_t = _criticals()
    log_degrees = np.log(_DEGREES)
    falling = np.log(near_t / far_t)  # with more degrees, the far tail comes nearer
    matched = np.interp(near - far, falling, log_degrees)
    scale = np.exp(near) / np.interp(matched, log_degrees, near_t)
    return scale**2, np.exp(matched)


@functools.cache
def _criticals() -> tuple[Floats, Floats]:
    """Student's t at both tails, for each of the degrees."""
    near, far = (t_critical(tail / 2, _DEGREES) for tail in _TAILS)
    return near, far


@functools.cache
def _beyond(log_variances: bytes) -> Floats:
    """[grid, distance]: the probability of a normal error beyond each distance, on both sides."""
    from scipy import special  # it takes long to import

    deviations = np.exp(np.frombuffer(log_variances) / 2)
    standard = _DISTANCES / deviations[:, None] / math.sqrt(2)
    return np.asarray(special.erfc(standard), dtype=float)


def _crossing(beyond: Floats, tail: float) -> Floats:
    """The log of the distance at which each row's probability falls to `tail`."""
    logs = -np.log(np.maximum(beyond, 1e-300))
    distances = np.log(_DISTANCES)
    return np.array([np.interp(-math.log(tail), row, distances) for row in logs])
