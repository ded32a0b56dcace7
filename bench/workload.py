#!/usr/bin/env python3
"""What a request of a workload costs the engine, beside one of hello.

    python bench/workload.py [--pairs 9] [--scene kept-100]... [--seconds 1] [--json]

Both load the same null server, in turn and in alternating order; the workload has 1,024 requests,
each with its own path and its own expected body. The figure judged is the median over rounds of the
ratio of CPU time per response within a round: at most 1.10.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.generators import OURS, of_ours
from bench.samples import Scene, sample

RATIO_MAX = 1.10
SCENES = ("kept-100", "kept-1000", "slices-100")
ROUTE = {
    "name": "route",
    "draws": 1024,
    "variables": {
        "id": {"min": 1, "max": 1_000_000},
        "order": {"min": 1, "max": 1_000_000},
        "page": {"min": 1, "max": 1000},
    },
    "requests": [
        {
            "path": "/users/{id}/orders/{order}?page={page}",
            "expect": {"status": 200, "media_type": "text/plain", "body": "Hello, World!"},
        }
    ],
}


def main() -> int:
    args = arguments()
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("bench/workload.py: client and server want a core each", file=sys.stderr)
        return 2
    scenes = [Scene.of_name(name, args.seconds) for name in args.scene or SCENES]
    results = [measure(scene, args.pairs, cores) for scene in scenes]
    if args.json:
        print(json.dumps(results, indent=1))
    else:
        print("\n".join(line(result) for result in results))
    return 0 if all(result["pass"] for result in results) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="the engine's CPU time for a workload's requests")
    parser.add_argument("--pairs", type=int, default=9, help="rounds (default 9)")
    parser.add_argument("--scene", action="append", choices=SCENES, help="(default: all)")
    parser.add_argument("--seconds", type=int, default=1, help="length of each sample (default 1)")
    parser.add_argument("--json", action="store_true", help="every sample")
    args = parser.parse_args()
    if args.pairs < 1 or args.seconds < 1:
        parser.error("--pairs and --seconds must be 1 or more")
    return args


def measure(scene: Scene, rounds: int, cores: list[int]) -> dict[str, Any]:
    """The cost of both in each round, in microseconds of CPU time per response."""
    generators = [of_ours(OURS), of_ours("workload", "--workload", json.dumps(ROUTE))]
    cost_us: dict[str, list[float]] = {generator.name: [] for generator in generators}
    for turn in range(rounds):
        for generator in generators if turn % 2 == 0 else generators[::-1]:
            taken = sample(scene, generator, client_core=cores[-1], server_core=cores[0])
            cost_us[generator.name].append(taken.cpu_us_per_response)
    pairs = zip(cost_us["workload"], cost_us[OURS], strict=True)
    ratios = [of_workload / of_hello for of_workload, of_hello in pairs]
    ratio = median(ratios)
    return {
        "scene": str(scene),
        "cpu_us_per_response": cost_us,
        "ratio": ratio,
        "ratio_least": min(ratios),
        "ratio_most": max(ratios),
        "pass": ratio <= RATIO_MAX,
    }


def line(result: dict[str, Any]) -> str:
    hello_us, workload_us = (
        median(result["cpu_us_per_response"][name]) for name in (OURS, "workload")
    )
    return (
        f"{'PASS' if result['pass'] else 'FAIL'} {result['scene']}: hello {hello_us:.2f} us, "
        f"workload {workload_us:.2f} us, ratio {result['ratio']:.3f} "
        f"({result['ratio_least']:.2f} to {result['ratio_most']:.2f}), at most {RATIO_MAX}"
    )


if __name__ == "__main__":
    sys.exit(main())
