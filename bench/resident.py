"""Does the resident load process measure what a separate one measures?

Each server is warmed, then loaded in turns: ten slices of 100 ms by a load process that keeps its
connections, while the server is frozen between them; and one second by a separate load process,
which opens new connections and discards the first 0.5 s. The output is the ratios of the rates and
of the median latencies (resident over separate), with the standard error of their mean log over the
turns.

    python bench/resident.py --turns 12 -o docs/results/resident.json
"""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from deadheat.build.prepare import prepare
from deadheat.catalog import Selection, selection
from deadheat.cli.one_host import local_world
from deadheat.cli.workbench import builder_on, chosen_servers, open_catalog
from deadheat.host import ProcessSpec
from deadheat.load import LoadResult, LoadSpec
from deadheat.load.pooling import pool
from deadheat.load.slices import SliceRequest
from deadheat.measure import lifecycle
from deadheat.measure.contender import contender_from
from deadheat.measure.load_process import LoadProcess, close_load, load_slice, open_load
from deadheat.measure.slices import measure_slice
from deadheat.measure.trial import load_spec
from deadheat.measure.warm_up import warm
from deadheat.measure.world import World
from deadheat.protocol import load_protocol

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.schedules import FIELD, ROOT

SLICES = 10
SEPARATE_S, SEPARATE_DISCARD_S = 1.0, 0.5


@dataclass(frozen=True)
class Turn:
    """One measurement of each kind on one instance."""

    server: str
    resident_rate_per_s: float
    separate_rate_per_s: float
    resident_us_p50: float
    separate_us_p50: float


def main() -> None:
    options = _options()
    if options.show:
        show(json.loads(options.show.read_text()))
        return
    catalog = open_catalog(None)
    turns: list[Turn] = []
    with local_world("engine", 1) as world:
        for server in chosen_servers(catalog, options.servers):
            turns += measure(world, selection(server), options.turns)
            print(f"measured {server.name}", file=sys.stderr, flush=True)
    summary = {
        "command": " ".join(["python", *sys.argv]),
        "turns": [asdict(turn) for turn in turns],
    }
    show(summary)
    if options.output:
        options.output.write_text(json.dumps(summary, indent=1) + "\n")


def measure(world: World, chosen: Selection, turns: int) -> list[Turn]:
    """`turns` turns on one warm instance, each kind first in half of them."""
    (candidate,) = prepare([chosen], world.server_host, builder_on(world.server_host), print)
    if candidate.built is None:
        sys.exit(f"{chosen.name} cannot be built: {candidate.fault}")
    protocol = load_protocol(ROOT, "settle")
    instance = lifecycle.start(world, contender_from(chosen, candidate.built))
    try:
        spec = load_spec(protocol, instance, max(protocol.connections))
        load = open_load(world, spec)
        warm(world, instance, protocol, load=lambda s: load_slice(world, load, SliceRequest(s)))
        measured = []
        for number in range(turns):
            kinds = [("resident", load), ("separate", None)]
            results = {
                kind: _resident(world, instance, held) if held else _separate(world, spec)
                for kind, held in (kinds if number % 2 else kinds[::-1])
            }
            measured.append(Turn(chosen.name, *_figures(results)))
        close_load(world, load)
        return measured
    finally:
        lifecycle.stop(world, instance)


def _resident(world: World, instance: lifecycle.Instance, load: LoadProcess) -> LoadResult:
    lifecycle.freeze(world, instance)
    slices = [
        measure_slice(world, instance, load, SliceRequest(0.1), 0.0, number)
        for number in range(SLICES)
    ]
    lifecycle.thaw(world, instance)
    return pool([part.result for part in slices if part.result is not None])


def _separate(world: World, spec: LoadSpec) -> LoadResult:
    timed = replace(spec, duration_s=SEPARATE_S, discard_s=SEPARATE_DISCARD_S)
    command = ProcessSpec(world.engine.command(timed), cpus=world.load_cpus)
    done = world.load_host.run(command, timed.limit_s)
    return world.engine.parse(timed, done, world.engine_version)


def _figures(results: dict[str, LoadResult]) -> tuple[float, float, float, float]:
    resident, separate = results["resident"], results["separate"]
    return (
        resident.rate_per_s,
        separate.rate_per_s,
        resident.service_us["p50"] or math.nan,
        separate.service_us["p50"] or math.nan,
    )


def show(summary: dict[str, Any]) -> None:
    print("resident over separate   rate             p50")
    for name in dict.fromkeys(turn["server"] for turn in summary["turns"]):
        turns = [turn for turn in summary["turns"] if turn["server"] == name]
        rates = [t["resident_rate_per_s"] / t["separate_rate_per_s"] for t in turns]
        medians = [t["resident_us_p50"] / t["separate_us_p50"] for t in turns]
        print(f"{name:22}  {_mean(rates)}  {_mean(medians)}")


def _mean(ratios: Sequence[float]) -> str:
    """`1.012 +- 0.008`: the geometric mean and its standard error."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = math.exp(statistics.mean(logs))
    if len(logs) < 2:
        return f"{mean:.3f}         "
    return f"{mean:.3f} +- {mean * statistics.stdev(logs) / math.sqrt(len(logs)):.3f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=12, help="of each server")
    parser.add_argument("--servers", nargs="*", default=FIELD, help="names in the catalog")
    parser.add_argument("--show", type=Path, help="print a stored summary instead")
    parser.add_argument("-o", "--output", type=Path, help="write the summary as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
