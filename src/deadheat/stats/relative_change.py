"""How contenders changed from one race in slices to another, beside the others in both.

The machine may have changed between two races, and it changes all rates. So a contender's log rate
is taken less the mean of the others' in the same race, and the change is the difference of the two.
If one of m contenders changes by a factor f, each of the others changes by f^(-1 / (m - 1)) beside
the rest.
"""

import math

import numpy as np

from deadheat.stats.contender_effects import EffectEstimate
from deadheat.stats.distributions import Floats, t_critical
from deadheat.stats.rounding import without_rounding
from deadheat.stats.slices import Indices
from deadheat.stats.unpaired import UnpairedChange


def relative_changes(
    first: EffectEstimate, second: EffectEstimate, places: tuple[Indices, Indices], alpha: float
) -> list[UnpairedChange]:
    """The change of each contender beside the others, with t-intervals at 1 - `alpha`.

    `places` has the contenders' indices in each race, in the same order. The variance of a contrast
    follows from those of the pairs. Degrees of freedom: Welch and Satterthwaite, taking all of a
    race's variance as the contender's own, which has fewer degrees than the mean of the others.
    Without an interval, `low` is 0 and `high` infinite. ValueError for fewer than two contenders.
    """
    count = len(places[0])
    if count < 2:
        raise ValueError(f"expected at least two contenders, not {count}")
    contrasts = np.full((count, count), -1 / (count - 1))
    np.fill_diagonal(contrasts, 1.0)
    sides = [
        (
            contrasts @ estimate.log_rate[own],
            _variances(contrasts, estimate.variance[np.ix_(own, own)]),
            _degrees(estimate, own),
        )
        for estimate, own in zip((first, second), places, strict=True)
    ]
    difference = without_rounding(sides[1][0] - sides[0][0])
    variance = sides[0][1] + sides[1][1]
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = variance**2 / sum(own**2 / freedom for _, own, freedom in sides)
    changes = []
    for change, squared, freedom in zip(difference, variance, degrees, strict=True):
        reach = math.inf
        if math.isfinite(squared) and math.isfinite(freedom) and freedom > 0:
            reach = float(t_critical(alpha / 2, freedom)) * math.sqrt(squared)
        changes.append(UnpairedChange(*(_exp(change + step) for step in (0.0, -reach, reach))))
    return changes


def _variances(contrasts: Floats, of_pairs: Floats) -> Floats:
    """Var(sum of a_i x_i) = -1/2 sum of a_i a_j Var(x_i - x_j) for a_i that add up to 0."""
    half = ((contrasts @ of_pairs) * contrasts).sum(axis=1) / 2
    return np.asarray(np.maximum(-half, 0.0))


def _degrees(estimate: EffectEstimate, places: Indices) -> Floats:
    """Those of each contender; NaN if it has no interval beside another one of these."""
    of_pairs = estimate.degrees_of_freedom[np.ix_(places, places)]
    another = ~np.eye(len(places), dtype=bool)
    usable = (np.isfinite(of_pairs) & another).any(axis=1)
    return np.where(usable, estimate.contender_degrees[places], np.nan)


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
