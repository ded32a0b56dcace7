"""The ranking that a model of slices gives: what `rank` states, from one set of numbers."""

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from deadheat.stats.distributions import Floats, without_rounding
from deadheat.stats.model.contender_effects import EffectEstimate
from deadheat.stats.model.slice_model import ModelFit
from deadheat.stats.ranking.pairs import PairFits
from deadheat.stats.ranking.ranks import Decided, Ranking, competitors, linked_order, ranking_of
from deadheat.stats.ranking.ratio import Ratios

TO_THE_END = 0.75  # of the most blocks of any contender
_WIDEST = 100.0  # log units; with two instances t on one degree of freedom overflows a float


class ModelRatios(Ratios):
    """Ratios of one model: another sentence on the method, and no interval beyond e to the 100."""

    @cached_property
    def half_width(self) -> Floats:
        return np.minimum(super().half_width, _WIDEST)

    def _method(self, a: int, b: int) -> str:
        if a == b:
            return "the same contender"
        degrees = float(self.fits.degrees_of_freedom[a, b])
        if np.isnan(degrees):
            return "no interval: too few instances, or never measured together"
        return (
            "additive model of slices (contender, instance, machine state); instance-to-instance "
            f"variance learned from all contenders, at least the contender's own; t, {degrees:.1f} "
            f"df; {self.level_text}"
        )


def rank_from_model(
    fit: ModelFit,
    names: Sequence[str],
    *,
    margin: float = 0.03,
    confidence: float = 0.95,
    share: float = 1.0,
    controls: Collection[str] = (),
    decided: Decided | None = None,
) -> Ranking:
    """Rank the contenders of `fit` by its effects.

    `names` has one name per contender index; `share` is this look's share of the error
    (`alpha_spending.Looks.share`). `controls` take part in the model, not in the order. A row's
    `rate_median` holds the model's rate: its ratios are the printed ones. `decided` has the
    verdicts of earlier looks, which stay. ValueError for names that do not fit.
    """
    effects = fit.estimate
    competing = competitors(names, len(effects.log_rate), controls)
    order = linked_order(effects.log_rate, effects.variance, competing)
    return ranking_of(
        pair_fits(fit, effects).of(order),
        [names[k] for k in order],
        np.exp(effects.log_rate[order]),
        unranked=[name for k, name in enumerate(names) if competing[k] and k not in order],
        margin=margin,
        confidence=confidence,
        share=share,
        decided=decided,
        ratios_as=ModelRatios,
        detectable_by=to_the_end(fit.blocks[order].astype(float)),
    )


def to_the_end(blocks: Floats) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """The places of the contenders that raced to the end, and at least two.

    A contender whose place is decided stops, and its intervals are no narrower than that took. So
    what a race can detect is read from those with at least three quarters of the most blocks.
    """
    if not len(blocks):
        return np.array([], dtype=np.int64)
    enough = min(float(np.sort(blocks)[-2:][0]), TO_THE_END * float(blocks.max()))
    return np.flatnonzero(blocks >= enough)


def pair_fits(fit: ModelFit, effects: EffectEstimate) -> PairFits:
    """The pairs of a model as `Ratios`, `effort` and `minimum_detectable_effect` read them.

    A pair's slice variance is that of one block of its contenders, and its blocks and
    instances those of the contender that has fewer.
    """
    another = ~np.eye(len(effects.log_rate), dtype=bool)
    known = another & np.isfinite(effects.variance)
    usable = known & np.isfinite(effects.degrees_of_freedom)
    with np.errstate(divide="ignore", invalid="ignore"):
        block_variance = effects.slice_variance * fit.blocks / fit.slices
        standard_error = np.sqrt(effects.variance)
    log_ratio = without_rounding(effects.log_rate[:, None] - effects.log_rate[None, :])
    return PairFits(
        log_ratio=np.where(known, log_ratio, np.nan),
        standard_error=np.where(usable, standard_error, np.nan),
        degrees_of_freedom=np.where(usable, effects.degrees_of_freedom, np.nan),
        slice_variance=np.where(usable, block_variance[:, None] + block_variance, np.nan),
        start_variance=np.where(
            usable, effects.instance_variance[:, None] + effects.instance_variance, np.nan
        ),
        blocks=np.minimum(fit.blocks[:, None], fit.blocks),
        invocations=np.minimum(fit.instances[:, None], fit.instances),
        indirect=np.zeros_like(another),
        disagreement=effects.disagreement,
    )
