#!/usr/bin/env python3
"""Client CPU per request of deadheat-load beside wrk, ab, h2load and what else is installed.

    python bench/engine.py [--pairs 7] [--scene kept-1000]... [--seconds 2] [-o FILE]
    python bench/engine.py --scene tls-closed-1 -o FILE   # into the file, beside its other scenes
    python bench/engine.py --show FILE

Each sample starts a fresh null server on one core and one generator on another. The cost is the
generator's whole rusage, its start, preflight and report included, over the responses that the
server counted. Generators take turns in an order that rotates from round to round, and every
figure judged is the median over rounds of a ratio within a round: no absolute time is. A connection
per request over TLS makes a full handshake each, so its scene also has handshakes per second.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.generators import GENERATORS, OURS, Generator
from bench.samples import Scene, sample

# Scenes, and the most that a request may cost of what it costs another generator.
TARGETS = {
    "kept-10": {"wrk": 0.75},
    "kept-100": {"wrk": 0.75},
    "kept-1000": {"wrk": 0.72},
    "closed-100": {"wrk": 0.90, "ab": 0.85},
    "slices-100": {"wrk": 0.75},
    "http2-100x1": {"h2load": 0.65},
    "http2-100x10": {"h2load": 0.85},
    "tls-kept-100": {"wrk": 0.80},
    "tls-http2-100x1": {"h2load": 0.65},
    "tls-http2-100x10": {"h2load": 0.85},
    "tls-closed-1": {"s_time": 1.00},
}


def main() -> int:
    args = arguments()
    if args.show:
        return show(json.loads(args.show.read_text())["scenes"])
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        return fail(
            f"this process may run on core {cores[0]} only; client and server want one each"
        )
    scenes = [Scene.of_name(name, args.seconds) for name in args.scene or TARGETS]
    generators = [generator for generator in GENERATORS if generator.program]
    missing = sorted({g.name for g in GENERATORS} - {g.name for g in generators})
    others = {other for scene in args.scene or TARGETS for other in TARGETS[scene]}
    for needed in (*sorted(others), OURS):
        if needed in missing:
            return fail(f"{needed} is not installed; every ratio is to it or of it")
    if missing:
        print(f"not installed, left out: {', '.join(missing)}", file=sys.stderr)
    results = [measure(scene, generators, args.pairs, cores) for scene in scenes]
    if args.output:
        store(args.output, results)
    return show(results)


def store(path: Path, results: list[dict[str, Any]]) -> None:
    """Writes the scenes, in the place of those of their names, beside the file's others."""
    document = json.loads(path.read_text()) if path.exists() else {"scenes": []}
    by_name = {scene["scene"]: scene for scene in (*document["scenes"], *results)}
    path.write_text(json.dumps({"scenes": [*by_name.values()]}) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="client CPU per request, beside wrk and ab")
    parser.add_argument("--pairs", type=int, default=7, help="rounds (default 7)")
    parser.add_argument("--scene", action="append", choices=TARGETS, help="(default: all)")
    parser.add_argument("--seconds", type=int, default=2, help="length of each sample (default 2)")
    parser.add_argument("--show", type=Path, help="print a stored summary instead")
    parser.add_argument("-o", "--output", type=Path, help="write every sample as JSON")
    args = parser.parse_args()
    if args.pairs < 1 or args.seconds < 1:
        parser.error("--pairs and --seconds must be 1 or more")
    return args


def measure(
    scene: Scene, generators: list[Generator], rounds: int, cores: list[int]
) -> dict[str, Any]:
    """The cost of each generator in each round, microseconds, and what follows from it."""
    generators = [generator for generator in generators if scene.takes(generator)]
    cost_us: dict[str, list[float]] = {generator.name: [] for generator in generators}
    per_s: dict[str, list[float]] = {generator.name: [] for generator in generators}
    for turn in range(rounds):
        shift = turn % len(generators)
        for generator in generators[shift:] + generators[:shift]:
            taken = sample(scene, generator, client_core=cores[-1], server_core=cores[0])
            cost_us[generator.name].append(taken.cpu_us_per_response)
            per_s[generator.name].append(taken.per_s)
            print(f"{scene} {turn + 1}/{rounds} {generator.name}: {taken}", file=sys.stderr)
    return {
        "command": " ".join(["python", *sys.argv]),
        "scene": str(scene),
        "cpu_us_per_response": cost_us,
        **({"handshakes_per_s": per_s} if scene.tls and scene.kind == "closed" else {}),
        "checks": [check(cost_us, *target) for target in TARGETS[scene.name].items()],
    }


def check(cost_us: dict[str, list[float]], contender: str, limit: float) -> dict[str, Any]:
    ratio = median(ratios(cost_us, OURS, contender))
    return {"contender": contender, "ratio": ratio, "at_most": limit, "pass": ratio <= limit}


def ratios(cost_us: dict[str, list[float]], name: str, contender: str) -> list[float]:
    return [ours / theirs for ours, theirs in zip(cost_us[name], cost_us[contender], strict=True)]


def show(results: list[dict[str, Any]]) -> int:
    print("\n\n".join(table(result) for result in results))
    return 0 if all(check["pass"] for result in results for check in result["checks"]) else 1


def table(result: dict[str, Any]) -> str:
    cost_us = result["cpu_us_per_response"]
    per_s = result.get("handshakes_per_s", {})
    base = next(name for name in ("s_time", "wrk", "h2load") if name in cost_us)
    head = f"{result['scene']:<28}{'us CPU':>10}{f'of {base}':>10}{'(least, most)':>18}"
    lines = [head + (f"{'handshakes/s':>15}{f'of {base}':>10}" if per_s else "")]
    for name, costs in sorted(cost_us.items(), key=lambda item: median(item[1])):
        of_base = ratios(cost_us, name, base)
        spread = f"({min(of_base):.2f}, {max(of_base):.2f})"
        lines.append(f"  {name:<26}{median(costs):>10.2f}{median(of_base):>10.3f}{spread:>18}")
        if per_s:
            of_its = median(ratios(per_s, name, base))
            lines[-1] += f"{median(per_s[name]):>15,.0f}{of_its:>10.3f}"
    for check in result["checks"]:
        verdict = "PASS" if check["pass"] else "FAIL"
        lines.append(
            f"  {verdict} {OURS} at {check['ratio']:.3f} of {check['contender']}, at most "
            f"{check['at_most']:.2f}"
        )
    return "\n".join(lines)


def fail(error: str) -> int:
    print(f"bench/engine.py: {error}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
