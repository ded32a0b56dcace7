"""The ranking of contenders over several pairs of hosts."""

import math
from collections.abc import Collection, Sequence

import numpy as np

from deadheat.stats.alpha_spending import ErrorLevel
from deadheat.stats.host_pairs import Contrasts, HostPairFit
from deadheat.stats.model_ranking import ModelRatios
from deadheat.stats.pairs import PairFits
from deadheat.stats.ranking import Ranking, competitors, linked_order, ranking_of
from deadheat.stats.ratio import RatioInterval, Ratios
from deadheat.stats.rounding import without_rounding


class HostPairRatios(ModelRatios):
    """Ratios over several pairs of hosts: another sentence on the method."""

    def _method(self, a: int, b: int) -> str:
        if a == b:
            return "the same contender"
        degrees = float(self.fits.degrees_of_freedom[a, b])
        if math.isnan(degrees):
            return "no interval: too few contenders that ran on several pairs of hosts"
        steps = ", step by step" if self.level.comparisons > 1 else ""
        return (
            "runs linked by shared contenders; variance between pairs of hosts learned from these; "
            f"t, {degrees:.1f} df; {self.level}{steps}"
        )


def rank_over_host_pairs(
    fit: HostPairFit,
    names: Sequence[str],
    *,
    margin: float = 0.03,
    confidence: float = 0.95,
    controls: Collection[str] = (),
) -> Ranking:
    """Rank the contenders of `fit`; `names` has one name per contender index.

    A row's `rate_median` is the rate at the mean of the pairs of hosts. `controls` take part in the
    model, not in the order. There is no effort: more time on these hosts does not shrink the
    variance between them.
    """
    effect, variance = fit.contenders.effect, fit.contenders.variance
    competing = competitors(names, len(effect), controls)
    order = linked_order(effect, variance, competing)
    return ranking_of(
        pair_fits(fit.contenders).of(order),
        [names[k] for k in order],
        np.exp(fit.level + effect[order]),
        unranked=[name for k, name in enumerate(names) if competing[k] and k not in order],
        margin=margin,
        confidence=confidence,
        ratios_as=HostPairRatios,
        more_time_helps=False,
    )


def host_pair_speeds(fit: HostPairFit, confidence: float = 0.95) -> tuple[RatioInterval, ...]:
    """The speed of each pair of hosts over that of the first; jointly at `confidence`."""
    level = ErrorLevel(confidence, max(len(fit.host_pairs.effect) - 1, 1))
    ratios = Ratios(pair_fits(fit.host_pairs), level)
    return tuple(ratios.interval(place, 0) for place in range(len(fit.host_pairs.effect)))


def pair_fits(contrasts: Contrasts) -> PairFits:
    """The differences as `Ratios` reads them; it has no parts for slices and starts."""
    count = len(contrasts.effect)
    known = ~np.eye(count, dtype=bool) & np.isfinite(contrasts.variance)
    usable = known & np.isfinite(contrasts.degrees_of_freedom)
    log_ratio = without_rounding(contrasts.effect[:, None] - contrasts.effect[None, :])
    return PairFits(
        log_ratio=np.where(known, log_ratio, np.nan),
        standard_error=np.where(usable, np.sqrt(contrasts.variance), np.nan),
        degrees_of_freedom=np.where(usable, contrasts.degrees_of_freedom, np.nan),
        slice_variance=np.full((count, count), np.nan),
        start_variance=np.full((count, count), np.nan),
        blocks=np.zeros((count, count), dtype=np.int64),
        invocations=np.zeros((count, count), dtype=np.int64),
        indirect=np.zeros((count, count), dtype=bool),
    )
