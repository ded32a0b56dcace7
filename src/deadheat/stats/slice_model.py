"""One additive model of all slices of a race: the numbers that every table reads from.

    log rate = contender + instance (random) + machine state (random walk in a block) + noise

Where the hypervisor moved the CPUs during the race, each contender also has a response to that
(random; see `placement` and `responses`), and its rate is that at the mix of placements while most
contenders raced.

One vector of contender effects gives every ratio, so ratios multiply through, the order is theirs,
and the printed rates have exactly these ratios. The model is fitted twice, `plain` and `robust`. In
the second, slices whose neighbors in time were disturbed weigh less (see `neighbor_weights`), and
those at another speed of the machine hardly count (see `machine_speed`).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deadheat.stats.contender_effects import Estimate, estimate
from deadheat.stats.distributions import Floats
from deadheat.stats.machine_speed import at_usual_speed
from deadheat.stats.neighbor_weights import neighbor_weights
from deadheat.stats.robust_gap import robust_gap
from deadheat.stats.slice_layout import Layout
from deadheat.stats.slice_weights import first_look, weighted_fit
from deadheat.stats.slices import Slices
from deadheat.stats.witness import instance_log_rates, witness_gaps

_UNUSUAL_WEIGHT = 1e-3  # of a slice at another speed of the machine


@dataclass(frozen=True)
class ModelFit:
    """The model of one race. Arrays hold one value per contender.

    `robust_gap` is the robust log rate less the plain one, relative to the field's median, and
    `robust_gap_error` its standard error; `estimates_differ` flags gaps beyond chance (5 % over
    all contenders).
    `witness_gap` is the log of a contender's rate without slices over that in them, where they
    disagree beyond chance, else 0 (see `witness`).
    `unusual_share` is the share of slices at another speed of the machine.
    """

    robust: Estimate
    plain: Estimate
    slices: npt.NDArray[np.int64]
    instances: npt.NDArray[np.int64]
    blocks: npt.NDArray[np.int64]
    state_intensity: float
    disturbed_share: float
    unusual_share: float
    robust_gap: Floats
    robust_gap_error: Floats
    estimates_differ: npt.NDArray[np.bool_]
    witness_gap: Floats


def fit_slices(slices: Slices, fewest_instances: int = 2) -> ModelFit:
    """Fit the model; ValueError without slices.

    A pair has an interval only if both have `fewest_instances`. With 1, a contender of one
    instance is taken to vary as the others' instances suggest; where no contender has two,
    there is no interval at all.
    """
    if not len(slices):
        raise ValueError("no slices to fit")
    layout = Layout.of(slices)
    residuals, sd, intensity = first_look(layout)
    usual = at_usual_speed(layout.log_rate, layout.contender, layout.row, layout.placement)
    calm = neighbor_weights(layout, residuals / sd[layout.contender])
    calm = np.where(usual, calm, _UNUSUAL_WEIGHT * calm)
    plain_fit = weighted_fit(layout, residuals, np.ones(len(layout)), intensity)
    robust_fit = weighted_fit(layout, residuals, calm, intensity)
    plain, _ = estimate(layout, plain_fit, np.ones(len(layout)), fewest_instances)
    robust, loads = estimate(layout, robust_fit, calm, fewest_instances)
    gap, error, differ = robust_gap(layout, plain_fit, robust_fit, loads)
    count = layout.contenders
    slice_counts = np.bincount(layout.contender, minlength=count)
    _, block = np.unique(layout.block, return_inverse=True)
    cells = np.unique(layout.contender * (int(block[-1]) + 1) + block)
    return ModelFit(
        robust=robust,
        plain=plain,
        slices=slice_counts,
        instances=np.bincount(layout.contender_of, minlength=count),
        blocks=np.bincount(cells // (int(block[-1]) + 1), minlength=count),
        state_intensity=intensity,
        disturbed_share=float(1 - calm.mean()),
        unusual_share=float(1 - usual.mean()),
        robust_gap=gap,
        robust_gap_error=error,
        estimates_differ=differ,
        witness_gap=_witness_gap(slices),
    )


def _witness_gap(slices: Slices) -> Floats:
    _, first, instance = np.unique(slices.instance, return_index=True, return_inverse=True)
    log_rate = instance_log_rates(slices.log_rate, slices.weight, instance, len(first))
    return witness_gaps(log_rate, slices.witness[first], slices.contender[first], slices.contenders)
