"""False alarm rate of the method: how often a run separates two copies of one server (A/A test)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from deadheat.stats.distributions import NORMAL, binomial_bounds
from deadheat.stats.ranking.pairs import PairFits

FEWEST_PAIRS = 200


@dataclass(frozen=True)
class FalseAlarms:
    """False differences among null pairs, each pair tested alone at a nominal rate.

    `allowed` is the highest rate that binomial chance explains at 95 %. `low` and `high`
    are the exact 95 % interval of the true rate for independent pairs.
    """

    null_pairs: int
    false_differences: int
    nominal: float
    low: float
    high: float
    allowed: float

    @property
    def false_difference_rate(self) -> float:
        return self.false_differences / self.null_pairs

    @property
    def passed(self) -> bool:
        """There are enough pairs, and no more false differences than chance explains."""
        return self.null_pairs >= FEWEST_PAIRS and self.false_difference_rate <= self.allowed


def false_alarms(runs: Iterable[PairFits], nominal: float = 0.05) -> FalseAlarms:
    """Count false differences over `runs` in which all contenders are the same server.

    Every pair of a run counts, and is tested alone at `nominal`. Pairs of one run share
    contenders, so several runs of few contenders say more than one run of many.
    Raises ValueError without a single pair.
    """
    pairs = differences = 0
    for fits in runs:
        upper = np.triu_indices(fits.contenders, k=1)
        log_ratio, half_width = fits.log_ratio[upper], fits.half_width(nominal)[upper]
        pairs += int(np.isfinite(half_width).sum())
        differences += int((np.abs(log_ratio) > half_width).sum())
    if pairs == 0:
        raise ValueError("no pair of copies was measured: expected at least one")
    low, high = binomial_bounds(differences, pairs)
    return FalseAlarms(pairs, differences, nominal, low, high, allowed_rate(nominal, pairs))


def allowed_rate(nominal: float, pairs: int) -> float:
    """nominal + z[0.95] sqrt(nominal (1 - nominal) / pairs): 0.075 for 0.05 and 200 pairs."""
    return nominal + NORMAL.inv_cdf(0.95) * math.sqrt(nominal * (1 - nominal) / pairs)
