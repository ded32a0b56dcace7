"""What a joint boundary over the looks of a race would save, beside the union bound in use.

    python -m bench.joint_boundary

Under normal noise with independent increments, the statistics of looks i < j have the correlation
sqrt(t[i] / t[j]), where t is the fraction of the budget. Boundaries that spend the same error under
this joint law come from a recursion (Armitage, McPherson and Rowe 1969). Real races have a stronger
correlation, because all looks share the scatter of the starts, and few degrees of freedom.
"""

import math
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np

from deadheat.stats.distributions import Floats
from deadheat.stats.ranking.alpha_spending import Looks

NORMAL = NormalDist()
GRID = np.linspace(-9.0, 9.0, 3601)
STEP = float(GRID[1] - GRID[0])
ALPHA = 0.05


def joint_boundaries(alpha: float, looks: Looks) -> Iterator[float]:
    """Two-sided critical values: the first crossing at each look spends its share of `alpha`."""
    density: Floats = np.exp(-(GRID**2) / 2) / math.sqrt(2 * math.pi)
    boundary = math.inf
    for look in range(looks.count):
        if look:
            correlation = math.sqrt(looks.fraction(look - 1) / looks.fraction(look))
            spread = math.sqrt(1 - correlation**2)
            inside = np.abs(GRID) < boundary
            steps = (GRID[:, None] - correlation * GRID[inside]) / spread
            kernel = np.exp(-(steps**2) / 2) / (spread * math.sqrt(2 * math.pi))
            density = kernel @ density[inside] * STEP
        share = looks.share(look, look - 1 if look else None)
        tail = np.cumsum(density[::-1]) * STEP
        boundary = float(np.interp(alpha * share / 2, tail, GRID[::-1]))
        yield boundary


def main() -> None:
    looks = Looks()
    last = looks.count - 1
    print("$ python -m bench.joint_boundary")
    print("critical value of the last look, which ends the budget\n")
    print("| contenders | pairs | union bound | joint boundary | narrower, % |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for contenders in (2, 8, 24):
        pairs = contenders * (contenders - 1) // 2
        alpha = ALPHA / pairs
        union = NORMAL.inv_cdf(1 - alpha * looks.share(last, last - 1) / 2)
        *_, joint = joint_boundaries(alpha, looks)
        saved = 100 * (1 - joint / union)
        print(f"| {contenders} | {pairs} | {union:.3f} | {joint:.3f} | {saved:.1f} |")


if __name__ == "__main__":
    main()
