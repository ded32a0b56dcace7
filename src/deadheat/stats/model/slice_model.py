"""One additive model of all slices of a race: the numbers that every table reads from.

    log rate = contender + instance (random) + machine state (random walk in a block) + noise

One vector of contender effects gives every ratio, so ratios multiply through, the order is theirs,
and the printed rates have exactly these ratios. Effects are the logs of rates by mean cycle times,
so a pause counts in full (see `weighted_fit`).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deadheat.stats.distributions import Floats
from deadheat.stats.model.contender_effects import EffectEstimate, estimate
from deadheat.stats.model.slice_layout import Layout
from deadheat.stats.model.slice_weights import first_look, weighted_fit
from deadheat.stats.model.slices import SliceArrays
from deadheat.stats.model.witness import instance_log_rates, witness_gaps

_MOST_SILENT = 0.99  # of the time


@dataclass(frozen=True)
class ModelFit:
    """The model of one race. Arrays hold one value per contender.

    `witness_gap` is the log of a contender's rate without slices over that in them, where they
    disagree beyond chance, else 0 (see `witness`).

    `silent_gap` is the log of a contender's rate over that with its silent windows counted, at
    least 0. A pause by the clock that is due when a frozen server is thawed lies in the discarded
    part and in the window: the requests that are followed miss all such pauses, and the silent
    windows show too many. So the truth lies between the two.
    """

    estimate: EffectEstimate
    slices: npt.NDArray[np.int64]
    instances: npt.NDArray[np.int64]
    blocks: npt.NDArray[np.int64]
    state_intensity: float
    witness_gap: Floats
    silent_gap: Floats


def fit_slices(slices: SliceArrays, fewest_instances: int = 2) -> ModelFit:
    """Fit the model; ValueError without slices.

    A pair has an interval only if both have `fewest_instances`. With 1, a contender of one
    instance is taken to vary as the others' instances suggest; where no contender has two,
    there is no interval at all.
    """
    if not len(slices):
        raise ValueError("no slices to fit")
    layout = Layout.of(slices)
    first = first_look(layout)
    fit = weighted_fit(layout, first)
    count = layout.contenders
    slice_counts = np.bincount(layout.contender, minlength=count)
    _, block = np.unique(layout.block, return_inverse=True)
    cells = np.unique(layout.contender * (int(block[-1]) + 1) + block)
    return ModelFit(
        estimate=estimate(layout, fit, fewest_instances),
        slices=slice_counts,
        instances=np.bincount(layout.contender_of, minlength=count),
        blocks=np.bincount(cells // (int(block[-1]) + 1), minlength=count),
        state_intensity=first.intensity,
        witness_gap=_witness_gap(slices),
        silent_gap=-np.log1p(-np.minimum(slices.silent, _MOST_SILENT)),
    )


def _witness_gap(slices: SliceArrays) -> Floats:
    _, first, instance = np.unique(slices.instance, return_index=True, return_inverse=True)
    log_rate = instance_log_rates(slices.log_rate, slices.weight, instance, len(first))
    return witness_gaps(log_rate, slices.witness[first], slices.contender[first], slices.paused)
