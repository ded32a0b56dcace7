#!/usr/bin/env python3
"""How often `stats.settling` excludes slices of a steady instance, and how well it finds a climb.

    python bench/settling.py [--seeds 2000]

Steady instances: lognormal noise, correlated noise (rho between successive slices), noise with
heavy tails, and one slice in ten disturbed. Climbing instances: the stored curves of the JVM
servers, called warm after 27,000 to 40,000 requests as it happened on the noisy machine, measured
in slices of 80 ms with 10 ms discarded. `bias` is what the mean of the slices lacks to the plateau.
"""

import argparse
import math
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from deadheat.stats.distributions import Floats
from deadheat.stats.warmup.settling import settling
from tests.stats.warm_curves import clean_curves

SLICES = (16, 24, 40, 80, 200)
STEADY: Mapping[str, Mapping[str, float]] = {
    "3 %": {"sd": 0.03},
    "10 %": {"sd": 0.10},
    "20 %": {"sd": 0.20},
    "rho .3": {"sd": 0.10, "rho": 0.3},
    "rho .6": {"sd": 0.10, "rho": 0.6},
    "t3": {"sd": 0.10, "degrees": 3},
    "spikes": {"sd": 0.05, "spike": 0.5},
}
SLICE_S = 0.09
SERVED = (27_000, 40_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2000)
    seeds = parser.parse_args().seeds
    generator = np.random.default_rng(20261122)
    print("steady instances of which slices are excluded")
    print(f"{'slices':<8}" + "".join(f"{name:>9}" for name in STEADY))
    for slices in SLICES:
        shares = (
            sum(settling(steady(generator, slices, **noise)).excluded > 0 for _ in range(seeds))
            / seeds
            for noise in STEADY.values()
        )
        print(f"{slices:<8}" + "".join(f"{share:>9.1%}" for share in shares))
    print("\ninstances called warm too early")
    print(
        f"{'server':<17}{'speed':>6}{'noise':>7}{'slices':>8}{'found':>8}{'unsettled':>11}"
        f"{'bias before':>13}{'after, if settled':>19}"
    )
    for server in ("java-undertow", "java-vertx", "java-tomcat", "scala-play", "scala-akka-http"):
        for speed in (1.0, 0.4):
            for noise in (0.03, 0.10, 0.20):
                for slices in (24, 80):
                    climb(generator, server, speed, noise, slices, max(seeds // 200, 1))


def steady(
    generator: np.random.Generator,
    slices: int,
    sd: float,
    rho: float = 0.0,
    degrees: float = 0.0,
    spike: float = 0.0,
) -> Floats:
    if degrees:
        shocks = generator.standard_t(degrees, slices) / math.sqrt(degrees / (degrees - 2))
    else:
        shocks = generator.standard_normal(slices)
    for index in range(1, slices if rho else 0):
        shocks[index] = rho * shocks[index - 1] + math.sqrt(1 - rho**2) * shocks[index]
    disturbed = generator.random(slices) < 0.1
    return np.asarray(1000 * np.exp(sd * shocks - spike * disturbed), dtype=float)


def climb(
    generator: np.random.Generator,
    server: str,
    speed: float,
    noise: float,
    slices: int,
    seeds: int,
) -> None:
    changed, unsettled, before, after = [], [], [], []
    for curve in clean_curves(server)[server]:
        for _ in range(seeds):
            served = float(generator.uniform(*SERVED))
            (run,) = curve.replay(
                generator, slices, served=served, speed=speed, noise=noise, window_s=SLICE_S
            )
            rates = np.diff(run) / SLICE_S
            outcome = settling(rates)
            changed.append(outcome.excluded > 0 or not outcome.settled)
            unsettled.append(not outcome.settled)
            before.append(rates.mean() / speed / curve.plateau - 1)
            if outcome.settled:
                after.append(rates[outcome.excluded :].mean() / speed / curve.plateau - 1)
    left = f"{np.median(after):>19.1%}" if after else f"{'-':>19}"
    print(
        f"{server:<17}{speed:>6}{noise:>7.0%}{slices:>8}{np.mean(changed):>8.0%}"
        f"{np.mean(unsettled):>11.0%}{np.median(before):>13.1%}{left}"
    )


if __name__ == "__main__":
    main()
