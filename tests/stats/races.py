"""Simulated races with known true rates."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deadheat.stats.distributions import Floats


@dataclass(frozen=True)
class Noise:
    """Noise of the log rates: standard deviations, one for each contender or one for all.

    `drift` is a random walk of the machine, common to all contenders. `tail` is the degrees of
    freedom of t-distributed slices (None: normal), `correlation` that of successive slices.
    """

    slice_sd: float | Sequence[float] = 0.05
    start_sd: float | Sequence[float] = 0.0
    tail: float | None = None
    correlation: float = 0.0
    drift: float = 0.0

    def rates(
        self,
        generator: np.random.Generator,
        log_means: Sequence[float],
        invocations: int = 3,
        blocks: int = 12,
    ) -> Floats:
        """Rates [invocation, block, contender]."""
        shape = (invocations, blocks, len(log_means))
        slices = generator.standard_normal(shape)
        if self.tail is not None:
            unit = np.sqrt(self.tail / (self.tail - 2))
            slices = generator.standard_t(self.tail, shape) / unit
        for block in range(1, blocks):
            innovation = np.sqrt(1 - self.correlation**2) * slices[:, block]
            slices[:, block] = self.correlation * slices[:, block - 1] + innovation
        starts = generator.standard_normal((invocations, 1, len(log_means)))
        steps = generator.standard_normal((invocations * blocks, 1)) * self.drift
        machine = np.cumsum(steps, axis=0).reshape(invocations, blocks, 1)
        noise = np.asarray(self.slice_sd) * slices + np.asarray(self.start_sd) * starts
        return np.exp(np.asarray(log_means) + noise + machine)


UNEVEN = (0.03, 0.04, 0.16, 0.03, 0.05, 0.03, 0.08, 0.05)

MACHINES = {
    "quiet": Noise(),
    "drifting machine": Noise(start_sd=0.01, drift=0.03),
    "heavy tails": Noise(start_sd=0.01, tail=3),
    "autocorrelated": Noise(correlation=0.5),
    "starts differ": Noise(start_sd=0.02),
    "uneven contenders": Noise(slice_sd=UNEVEN, start_sd=0.01),
    "combination": Noise(slice_sd=UNEVEN, start_sd=0.01, tail=3, correlation=0.5, drift=0.03),
}


def binomial_limit(rate: float, trials: int) -> float:
    """The observed rate that `trials` trials exceed with probability 1 / 740 if `rate` is true."""
    return rate + 3 * float(np.sqrt(rate * (1 - rate) / trials))
