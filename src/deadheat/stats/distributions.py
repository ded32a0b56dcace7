"""Student's t and exact binomial bounds, both from the incomplete beta function."""

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

NORMAL = NormalDist()

_CONTINUED_FRACTION_TERMS = 1000
_NEWTON_STEPS = 100
_TINY = 1e-300
_FARTHEST = 1e100  # the largest t that is computed; its square is still a float
_LONGEST_STEP = 100.0  # of ln(t)


def beta_cdf(x: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """Regularized incomplete beta function I_x(a, b), elementwise, for 0 <= x <= 1.

    NaN gives NaN. Evaluates the continued fraction of DLMF 8.17.22 by Lentz's method, on the side
    where it converges fast.
    """
    x, a, b = np.broadcast_arrays(
        np.asarray(x, dtype=float), np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    )
    known = np.isfinite(x) & np.isfinite(a) & np.isfinite(b)
    value = np.full(x.shape, np.nan)
    value[known] = _beta_cdf(x[known], a[known], b[known])
    return value


def t_tail(t: npt.ArrayLike, degrees: npt.ArrayLike) -> Floats:
    """P(T > t) for Student's t with `degrees` degrees of freedom, elementwise."""
    t, degrees = np.broadcast_arrays(np.asarray(t, dtype=float), np.asarray(degrees, dtype=float))
    beyond = 0.5 * beta_cdf(degrees / (degrees + t * t), degrees / 2, 0.5)
    return np.where(t >= 0, beyond, 1 - beyond)


def t_critical(tail: float, degrees: npt.ArrayLike) -> Floats:
    """The t with P(T > t) = `tail`, for 0 < tail < 0.5; NaN where `degrees` is NaN.

    It is infinite where it exceeds 1e100, as with far less than one degree of freedom.
    Newton's method on ln(tail) as a function of ln(t), a concave curve. It starts from the
    first terms of the Cornish-Fisher expansion.
    """
    if not 0 < tail < 0.5:
        raise ValueError(f"tail probability {tail}: expected a number between 0 and 0.5")
    shape = np.shape(degrees)
    degrees, place = np.unique(np.asarray(degrees, dtype=float), return_inverse=True)
    known = np.isfinite(degrees) & (degrees > 0)
    nu = np.where(known, degrees, 1.0)
    beyond_all = t_tail(_FARTHEST, nu) > tail
    nu = np.where(beyond_all, 1.0, nu)
    log_density_at_zero = _log_gamma((nu + 1) / 2) - _log_gamma(nu / 2) - 0.5 * np.log(nu * math.pi)
    z = NORMAL.inv_cdf(1 - tail)
    t = z + (z**3 + z) / (4 * nu) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * nu**2)
    for _ in range(_NEWTON_STEPS):
        beyond = t_tail(t, nu)
        density = np.exp(log_density_at_zero - (nu + 1) / 2 * np.log1p(t * t / nu))
        step = (np.log(beyond) - math.log(tail)) * beyond / (t * density)
        t = np.minimum(t * np.exp(np.minimum(step, _LONGEST_STEP)), _FARTHEST)
        if np.all(np.abs(step) < 1e-6):  # convergence is quadratic: the next step is 1e-12
            break
    critical = np.where(known, np.where(beyond_all, np.inf, t), np.nan)
    return np.asarray(critical[place].reshape(shape), dtype=float)


def binomial_bounds(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Exact two-sided interval for a proportion (Clopper & Pearson 1934)."""
    if not 0 <= hits <= trials or trials == 0:
        raise ValueError(f"{hits} of {trials}: expected a proportion")
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _beta_quantile(tail, hits, trials - hits + 1)
    high = 1.0 if hits == trials else _beta_quantile(1 - tail, hits + 1, trials - hits)
    return low, high


def _beta_quantile(probability: float, a: float, b: float) -> float:
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        if float(beta_cdf(middle, a, b)) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta_cdf(x: Floats, a: Floats, b: Floats) -> Floats:
    mirrored = x > (a + 1) / (a + b + 2)
    left = _beta_cdf_left(
        np.where(mirrored, 1 - x, x), np.where(mirrored, b, a), np.where(mirrored, a, b)
    )
    return np.where(mirrored, 1 - left, left)


def _beta_cdf_left(x: Floats, a: Floats, b: Floats) -> Floats:
    inside = np.clip(x, _TINY, 1 - 1e-16)
    log_front = (
        a * np.log(inside)
        + b * np.log1p(-inside)
        + _log_gamma(a + b)
        - _log_gamma(a)
        - _log_gamma(b)
    )
    c = np.ones_like(inside)
    d = 1 / _away_from_zero(1 - (a + b) * inside / (a + 1))
    fraction = d.copy()
    for m in range(1, _CONTINUED_FRACTION_TERMS):
        even = m * (b - m) * inside / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * inside / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            fraction = fraction * d * c
        if np.all(np.abs(d * c - 1) < 1e-14):
            break
    return np.where(x <= 0, 0.0, np.exp(log_front) * fraction / a)


def _away_from_zero(value: Floats) -> Floats:
    return np.where(np.abs(value) < _TINY, _TINY, value)


def _log_gamma(value: Floats) -> Floats:
    distinct, place = np.unique(value, return_inverse=True)  # few are, among many contenders
    logs = np.array([math.lgamma(x) for x in distinct])
    return logs[place].reshape(value.shape)
