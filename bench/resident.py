"""Does a slice measure what a longer load measures, and how much of its beginning has to go?

All servers are started, warmed and frozen, as in a race. A turn is: for each time to discard,
rounds of one slice of 100 ms of each server; then each server by itself, for one second by its
resident load process and one second by a separate process, both after 0.5 s that do not count. The
order of these two alternates from turn to turn, and the resident process has no connections while
the separate one runs. Each turn is done twice: while idle CPUs sleep, and while they are kept
awake.

The output is each rate over that of the resident second, with the standard error of the mean log
over the turns; the same of the median service time; how much the slices of a server scatter within
a turn; and the rates with idle CPUs awake over those with them asleep.

    python bench/resident.py --turns 10 -o docs/results/resident.json
"""

import argparse
import contextlib
import json
import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from deadheat.build.prepare import prepare
from deadheat.build.runtime import builder_on
from deadheat.catalog import Selection, selection
from deadheat.cli.choice import chosen_servers, open_catalog
from deadheat.host import ProcessSpec
from deadheat.host.agent.fingerprint import IdleCpus, first_cpu, is_virtual
from deadheat.load import LoadResult, LoadSpec
from deadheat.load.engine import SliceRequest
from deadheat.load.pooling import pool
from deadheat.measure import lifecycle
from deadheat.measure.contender import Instance, contender_from
from deadheat.measure.hosts import local_world
from deadheat.measure.load_process import LoadProcess, close_load, load_slice, open_load
from deadheat.measure.slices import measure_slice
from deadheat.measure.trial import load_spec
from deadheat.measure.warm_up import warm
from deadheat.measure.world import World
from deadheat.protocol import load_protocol
from deadheat.stats.distributions import t_critical

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.copied_field import FIELD, ROOT

DISCARDS_S = (0.01, 0.02, 0.03, 0.04, 0.06)
STATES = ("asleep", "awake")  # of idle CPUs
ROUNDS = 5
SLICE_S = 0.1
RESIDENT, SEPARATE = "resident second", "separate second"
LONG_S, LONG_DISCARD_S = 1.0, 0.5


@dataclass
class WarmInstance:
    """A warm instance, frozen, with the load process that is connected to it at the time."""

    name: str
    instance: Instance
    spec: LoadSpec
    load: LoadProcess


@dataclass(frozen=True)
class Rate:
    """What one server reached in one turn; `kind` is how it was loaded.

    `scatter` is the standard deviation of the log rates of its slices; None for one long load.
    """

    server: str
    idle_cpus: str
    kind: str
    rate_per_s: float
    service_us_p50: float | None
    scatter: float | None = None


def main() -> None:
    options = _options()
    if options.show:
        show(json.loads(options.show.read_text()))
        return
    catalog = open_catalog(None)
    rates: list[Rate] = []
    with local_world("engine", 1) as world, contextlib.ExitStack() as running:
        instances = [
            running.enter_context(_warm_instance(world, selection(server)))
            for server in chosen_servers(catalog, options.servers)
        ]
        for number in range(options.turns):
            for state in STATES if number % 2 else reversed(STATES):
                with _idle_cpus(state):
                    rates += turn(world, instances, number, state)
            print(f"turn {number + 1} of {options.turns}", file=sys.stderr, flush=True)
    summary = {
        "command": " ".join(["python", *sys.argv]),
        "rates": [asdict(rate) for rate in rates],
    }
    show(summary)
    if options.output:
        options.output.write_text(json.dumps(summary) + "\n")


@contextlib.contextmanager
def _idle_cpus(state: str) -> Iterator[None]:
    """Keep idle CPUs of this machine awake, if that is the state."""
    idle_cpus = IdleCpus(is_virtual(first_cpu()) is True)
    if state == "awake":
        if (hindrance := idle_cpus.hindrance()) is not None:
            sys.exit(f"idle CPUs cannot be kept awake: {hindrance}; see `deadheat doctor`")
        idle_cpus.keep_awake()
    try:
        yield
    finally:
        idle_cpus.release()


@contextlib.contextmanager
def _warm_instance(world: World, chosen: Selection) -> Iterator[WarmInstance]:
    (candidate,) = prepare([chosen], world.server_host, builder_on(world.server_host), print)
    if candidate.built is None:
        sys.exit(f"{chosen.name} cannot be built: {candidate.fault}")
    protocol = load_protocol(ROOT, "settle")
    instance = lifecycle.start(world, contender_from(chosen, candidate.built))
    try:
        spec = load_spec(protocol, instance, max(protocol.connections))
        load = open_load(world, spec)
        warm(world, instance, protocol, load=lambda s: load_slice(world, load, SliceRequest(s)))
        lifecycle.freeze(world, instance)
        warmed = WarmInstance(chosen.name, instance, spec, load)
        yield warmed
        lifecycle.thaw(world, instance)
        close_load(warmed.load)
    finally:
        lifecycle.stop(world, instance)


def turn(
    world: World, instances: Sequence[WarmInstance], number: int, state: str
) -> Iterator[Rate]:
    """Everything once; the times to discard begin with another one in each turn."""
    first = number % len(DISCARDS_S)
    for discard_s in DISCARDS_S[first:] + DISCARDS_S[:first]:
        yield from _rounds(world, instances, discard_s, state)
    for warmed in instances:
        lifecycle.thaw(world, warmed.instance)
        for kind in (RESIDENT, SEPARATE) if number % 2 else (SEPARATE, RESIDENT):
            yield _rate(warmed, state, kind, _long_load(world, warmed, kind))
        lifecycle.freeze(world, warmed.instance)


def _rounds(
    world: World, instances: Sequence[WarmInstance], discard_s: float, state: str
) -> Iterator[Rate]:
    request = SliceRequest(SLICE_S, discard_s)
    slices = [
        [measure_slice(world, each.instance, each.load, request, 0.0, number) for each in instances]
        for number in range(ROUNDS)
    ]
    for warmed, own in zip(instances, zip(*slices, strict=True), strict=True):
        results = [part.result for part in own if part.result is not None]
        scatter = statistics.stdev(math.log(result.rate_per_s) for result in results)
        yield _rate(warmed, state, _kind(discard_s), pool(results), scatter)


def _rate(
    warmed: WarmInstance, state: str, kind: str, result: LoadResult, scatter: float | None = None
) -> Rate:
    p50_us = result.service_us["p50"]
    return Rate(warmed.name, state, kind, result.rate_per_s, p50_us, scatter)


def _kind(discard_s: float) -> str:
    return f"after {1000 * discard_s:.0f} ms"


def _long_load(world: World, warmed: WarmInstance, kind: str) -> LoadResult:
    if kind == RESIDENT:
        return load_slice(world, warmed.load, SliceRequest(LONG_S, LONG_DISCARD_S))
    close_load(warmed.load)
    timed = replace(warmed.spec, duration_s=LONG_S, discard_s=LONG_DISCARD_S)
    command = ProcessSpec(world.load.engine.command(timed), cpus=world.load.cpus)
    done = world.load.host.run(command, timed.limit_s)
    warmed.load = open_load(world, warmed.spec)
    return world.load.engine.parse(timed, done, world.engine_version)


Rates = dict[tuple[str, str, str], list[dict[str, Any]]]


def show(summary: dict[str, Any]) -> None:
    rates: Rates = {}
    for rate in summary["rates"]:
        state = rate.get("idle_cpus", "asleep")  # until 22 November 2026 they always were
        rates.setdefault((rate["server"], state, rate["kind"]), []).append(rate)
    names = list(dict.fromkeys(server for server, _, _ in rates))
    states = [state for state in STATES if (names[0], state, _kind(DISCARDS_S[0])) in rates]
    values = ["rate_per_s"]
    if "service_us_p50" in summary["rates"][0]:  # stored since 25 November 2026
        values.append("service_us_p50")
    for value in values:
        for state in states:
            _show_ratios(value, names, state, rates)
            print()
    if len(states) > 1:
        if len(rates[names[0], "awake", RESIDENT]) > 1:
            _show_agreement(names, values, rates)
            print()
        _show_scatter(names, rates)
        print()
        _show_change(names, rates)


def _show_agreement(names: Sequence[str], values: Sequence[str], rates: Rates) -> None:
    """Which servers and values differ between two kinds of load, with awake CPUs as in a race.

    The 95 % intervals hold jointly over all servers and values (Student's t over the turns,
    Bonferroni).
    """
    for kind, other in ((SEPARATE, RESIDENT), (_kind(DISCARDS_S[0]), _kind(DISCARDS_S[-1]))):
        half_widths = []
        differing = []
        for value in values:
            for name in names:
                logs = _log_ratios(rates[name, "awake", kind], rates[name, "awake", other], value)
                tail = 0.05 / 2 / len(values) / len(names)
                half_widths.append(float(t_critical(tail, len(logs) - 1)) * _standard_error(logs))
                if abs(statistics.mean(logs)) > half_widths[-1]:
                    differing.append(f"{name} ({value})")
        half_width = math.expm1(statistics.median(half_widths))
        print(
            f"awake, {kind} and {other}: {', '.join(differing) or 'none'} of {len(half_widths)} "
            f"differ jointly at 95 %; median half-width {half_width:.0%}"
        )


def _show_scatter(names: Sequence[str], rates: Rates) -> None:
    kinds = [_kind(discard_s) for discard_s in DISCARDS_S]
    print(f"{'scatter of slices':24}", *(f"{kind:>14}" for kind in kinds))
    for state in STATES:
        medians = [
            statistics.median(_scatter(rates[name, state, kind]) for name in names)
            for kind in kinds
        ]
        print(f"{f'{state}: median':24}", *(f"{median:>14.1%}" for median in medians))


def _show_change(names: Sequence[str], rates: Rates) -> None:
    kinds = ["after 10 ms", "after 60 ms", RESIDENT, SEPARATE]
    print(f"{'awake over asleep':24}", *(f"{kind:>15}" for kind in kinds))
    for name in names:
        ratios = [
            _mean_ratio(rates[name, "awake", kind], rates[name, "asleep", kind], "rate_per_s")
            for kind in kinds
        ]
        print(f"{name:24}", *(f"{ratio:>15}" for ratio in ratios))


def _show_ratios(value: str, names: Sequence[str], state: str, rates: Rates) -> None:
    """`value` (a field of `Rate`) of each kind of load over that of the resident second."""
    kinds = [*(_kind(discard_s) for discard_s in DISCARDS_S), SEPARATE]
    print(f"{f'{state}, {value}':24}", *(f"{kind:>14}" for kind in kinds))
    for name in names:
        long = rates[name, state, RESIDENT]
        ratios = [_mean_ratio(rates[name, state, kind], long, value) for kind in kinds]
        print(f"{name:24}", *(f"{ratio:>14}" for ratio in ratios))


def _scatter(rates: Sequence[dict[str, Any]]) -> float:
    """The root mean square over the turns."""
    return math.sqrt(statistics.mean(rate["scatter"] ** 2 for rate in rates))


def _mean_ratio(
    rates: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]], value: str
) -> str:
    """`1.01 +- 0.01`: the geometric mean of the ratios turn by turn, and its standard error."""
    logs = _log_ratios(rates, others, value)
    mean = math.exp(statistics.mean(logs))
    if len(logs) < 2:
        return f"{mean:.2f}"
    return f"{mean:.2f} +- {mean * _standard_error(logs):.2f}"


def _log_ratios(
    rates: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]], value: str
) -> list[float]:
    """Turn by turn."""
    return [math.log(rate[value] / other[value]) for rate, other in zip(rates, others, strict=True)]


def _standard_error(logs: Sequence[float]) -> float:
    return statistics.stdev(logs) / math.sqrt(len(logs))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--servers", nargs="*", default=FIELD, help="names in the catalog")
    parser.add_argument("--show", type=Path, help="print a stored summary instead")
    parser.add_argument("-o", "--output", type=Path, help="write the summary as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
