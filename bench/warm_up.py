#!/usr/bin/env python3
"""How often warm-up stops too early, and what it costs: the stored curves replayed.

    python bench/warm_up.py [--seeds 200] [--servers java- scala- node-] [--raw] [--correlation 0]

Replays each curve at speeds 1.0 and 0.4 with 3, 10 and 20 % noise in each window of 100 ms.

A stop is early when it comes before the top compiler tier: the requests after which the clean rate
stays within 10 % of its plateau. The second column has 5 %, which is more than the record knows:
its windows scatter by 5 to 8 %, and the trials that follow a warm-up came minutes later.

At the end come records of JVM servers with the time of their compiler threads, without changes: how
long the warm-up takes by the drift alone, how long if an idle compiler counts, and how busy the
compiler was in the three seconds after that.

`first` is an instance without predecessor. `later` takes a server's instances of one run in random
order, each with what those before it showed.
"""

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from deadheat.stats.distributions import Floats
from tests.stats.warm_curves import (
    BY_DRIFT_ALONE,
    WINDOW_S,
    Curve,
    clean_curves,
    compiler_curves,
    first,
    later,
    longest,
    stored_curves,
    warm_with_compiler,
)

SPEEDS = (1.0, 0.4)
NOISES = (0.03, 0.10, 0.20)
NAMED = ("java-", "scala-", "node-")
AFTER_WINDOWS = 60  # 3 s


@dataclass
class Tally:
    """Outcomes of one rule on one server in one cell."""

    early: int = 0
    early_5: int = 0
    unsteady: int = 0
    requests: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, curve: Curve, cumulative: Floats, stop: int, steady: bool) -> None:
        served = float(cumulative[stop])
        self.requests.append(served)
        self.seconds.append(stop * WINDOW_S)
        if steady:
            self.early += served < 0.999 * curve.requests_within(0.10)
            self.early_5 += served < 0.999 * curve.top_requests
        else:
            self.unsteady += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--servers", nargs="*", default=NAMED)
    parser.add_argument("--raw", action="store_true", help="keep the noise of the record")
    parser.add_argument("--correlation", type=float, default=0.0)
    args = parser.parse_args()
    servers = clean_curves(*args.servers)
    stored = sum(curve.server.startswith(tuple(args.servers)) for curve in stored_curves())
    used = sum(len(curves) for curves in servers.values())
    print(f"{used} of {stored} stored curves; the rest: a machine that changed its speed")
    cells: dict[tuple[float, float, str], dict[str, Tally]] = {}
    for speed in SPEEDS:
        for noise in NOISES:
            generator = np.random.default_rng(20261122)
            for server, curves in servers.items():
                options = {"speed": speed, "noise": noise, "seeds": args.seeds, "raw": args.raw}
                replays = [
                    curve.replay(generator, longest(curve), correlation=args.correlation, **options)
                    for curve in curves
                ]
                for rule in ("first", "later"):
                    tally = Tally()
                    cells.setdefault((speed, noise, rule), {})[server] = tally
                    for seed in range(args.seeds):
                        runs = [replay[seed] for replay in replays]
                        outcomes = OUTCOMES[rule](curves, runs, generator)
                        for place, stop, steady in outcomes:
                            tally.add(curves[place], runs[place], stop, steady)
    print_cells(cells)
    print_servers(cells, tuple(servers))
    print_compilers()


OUTCOMES = {"first": first, "later": later}


def print_cells(cells: dict[tuple[float, float, str], dict[str, Tally]]) -> None:
    print(f"\n{'speed':<7}{'noise':>6}{'rule':>7}{'early':>8}{'(5%)':>8}{'unsteady':>10}  worst")
    for (speed, noise, rule), tallies in cells.items():
        runs = sum(len(tally.requests) for tally in tallies.values())
        worst = max(
            tallies, key=lambda server: tallies[server].early / len(tallies[server].requests)
        )
        shares = [
            sum(getattr(tally, name) for tally in tallies.values()) / runs
            for name in ("early", "early_5", "unsteady")
        ]
        share = tallies[worst].early / len(tallies[worst].requests)
        print(
            f"{speed:<7}{noise:>6.0%}{rule:>7}{shares[0]:>8.1%}{shares[1]:>8.1%}{shares[2]:>10.1%}"
            f"  {worst} {share:.1%}"
        )


def print_servers(
    cells: dict[tuple[float, float, str], dict[str, Tally]], servers: tuple[str, ...]
) -> None:
    print("\nmedian requests and seconds of load until the verdict, and share early; speed 1.0")
    for noise in NOISES:
        print(f"\nnoise {noise:.0%}{'first':>33}{'later':>27}")
        for server in servers:
            row = f"{server:<22}"
            for rule in ("first", "later"):
                tally = cells[1.0, noise, rule][server]
                row += (
                    f"{np.median(tally.requests):>10,.0f} {np.median(tally.seconds):>5.1f} s"
                    f" {tally.early / len(tally.requests):>6.1%} "
                )
            print(row.rstrip())


def print_compilers() -> None:
    print(f"\n{'with the compiler':<22}{'drift alone':>13}{'idle compiler':>15}{'busy after':>12}")
    for curve in compiler_curves():
        _, alone = warm_with_compiler(curve, BY_DRIFT_ALONE)
        stop, reading = warm_with_compiler(curve)
        after = slice(stop, stop + AFTER_WINDOWS)
        busy = curve.compiler_busy_s[after].sum() / curve.seconds[after].sum()
        by_drift = f"{alone.seconds:.1f} s" if alone.steady else f"over {alone.seconds:.0f} s"
        print(f"{curve.server:<22}{by_drift:>13}{reading.seconds:>13.1f} s{busy:>12.0%}")


if __name__ == "__main__":
    main()
