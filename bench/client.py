#!/usr/bin/env python3
"""What clients make of the same servers: does a server's rate depend on who loads it?

    python bench/client.py --connections 100 [--rounds 5] [-o docs/results/client.json]
    python bench/client.py --show docs/results/client.json

A closed loop can only slow a server down, so the truest client is the one under which every server
is fastest. The servers of `make run` are started on the first CPU, warmed and frozen. In each round
every client (the engine before it gathered, this engine, wrk) loads every server from the second
CPU once while idle CPUs sleep and once while they are kept awake. Servers come in random order, and
so do the six loads of a server, which are next to each other, so a machine that changes its speed
disturbs their ratios least. A rate is the answers of a load over its measured time. All means are
geometric; errors are standard errors over the rounds.

With `-o`, the file keeps the other numbers of connections that it has.
"""

import argparse
import contextlib
import json
import math
import os
import random
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.awake import POWER_STATES, PowerState, idle_cpus, way_to_keep_awake
from bench.copied_field import FIELD, ROOT
from bench.generators import engine
from deadheat.build.prepare import prepare
from deadheat.build.runtime import builder_on
from deadheat.catalog import selection
from deadheat.cli.choice import chosen_servers, open_catalog
from deadheat.measure import lifecycle
from deadheat.measure.contender import Instance, contender_from
from deadheat.measure.hosts import local_world
from deadheat.measure.world import World

BEFORE = "e15f381a"  # the last revision whose closed loop took each answer at once
TODAY, GATHERS, WRK = "today", "gathers", "wrk"
REFERENCE = "node-http"
WARM_S, WARM_MAX_S = 1.0, 8.0
FAST_PER_S = 20_000


@dataclass(frozen=True)
class Load:
    """The shares are of waits and of time; None for a client that does not state them."""

    round: int
    server: str
    client: str
    idle_cpus: PowerState
    rate_per_s: float
    gathered_share: float | None = None
    run_wait_share: float | None = None


@dataclass(frozen=True)
class Client:
    name: str
    words: tuple[str, ...]

    def load(
        self, url: str, connections: int, seconds: float
    ) -> tuple[float, float | None, float | None]:
        """The rate, the share of waits that gathered, and the share of time without a CPU."""
        if self.name == WRK:  # it takes whole seconds only
            return _wrk([*self.words, "-t1", f"-c{connections}", "-d1s", url]), None, None
        options = ["-c", f"{connections}", "-d", f"{1000 * seconds:.0f}ms", "--warmup", "100ms"]
        done = subprocess.run(
            [*self.words, *options, "--json", url], capture_output=True, text=True, check=False
        )
        document = json.loads(done.stdout)
        if document["requests"]["ok"] == 0:
            raise RuntimeError(f"{self.name}: no answer from {url}: {done.stderr}")
        client = document["client"]
        return document["rate_per_s"], client.get("gathered_share"), client["run_wait_share"]


def main() -> None:
    options = _options()
    if options.show:
        for level in json.loads(options.show.read_text())["levels"]:
            show(level)
        return
    with tempfile.TemporaryDirectory() as folder, local_world("engine", 1) as world:
        clients = options.client or _clients(Path(folder))
        with contextlib.ExitStack() as running:
            instances = _warm_instances(running, world, options.servers)
            running.enter_context(_on_cpus(world.load.cpus))
            loads = list(measure(world, instances, clients, options))
    level = {
        "command": " ".join(["python", *sys.argv]),
        "kept_awake_by": way_to_keep_awake(),
        "connections": options.connections,
        "seconds": options.seconds,
        "loads": [asdict(load) for load in loads],
    }
    show(level)
    if options.output:
        _store(options.output, level)


def measure(
    world: World,
    instances: Sequence[Instance],
    clients: Sequence[Client],
    options: argparse.Namespace,
) -> Iterator[Load]:
    """The loads of a server in a round follow each other."""
    generator = random.Random(options.seed)
    for number in range(options.rounds):
        for instance in generator.sample(instances, k=len(instances)):
            sides = [(client, state) for client in clients for state in POWER_STATES]
            generator.shuffle(sides)
            lifecycle.thaw(world, instance)
            for client, state in sides:
                with idle_cpus(state):
                    seen = client.load(instance.url, options.connections, options.seconds)
                yield Load(number, instance.contender.name, client.name, state, *seen)
            lifecycle.freeze(world, instance)
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)


def _warm_instances(
    running: contextlib.ExitStack, world: World, servers: Sequence[str]
) -> list[Instance]:
    instances = []
    for server in chosen_servers(open_catalog(None), servers):
        chosen = selection(server)
        host = world.server_host
        (candidate,) = prepare([chosen], host, builder_on(host), print)
        if candidate.built is None:
            sys.exit(f"{chosen.name} cannot be built: {candidate.fault}")
        instance = lifecycle.start(world, contender_from(chosen, candidate.built))
        running.callback(lifecycle.stop, world, instance)
        warm_s = WARM_MAX_S if server.manifest.slow_start else WARM_S
        command = [str(engine()), "-c", "100", "-d", f"{1000 * warm_s:.0f}ms", instance.url]
        with _on_cpus(world.load.cpus):
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        lifecycle.freeze(world, instance)
        running.callback(lifecycle.thaw, world, instance)
        instances.append(instance)
    return instances


@contextlib.contextmanager
def _on_cpus(cpus: Sequence[int]) -> Iterator[None]:
    """What is started in here runs on these CPUs."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _wrk(command: Sequence[str]) -> float:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    printed = re.search(r"Requests/sec: +([\d.]+)", done.stdout)
    if printed is None:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return float(printed[1])


def _clients(folder: Path) -> list[Client]:
    wrk = shutil.which("wrk")
    if wrk is None:
        sys.exit("wrk is not installed: apt-get install wrk")
    return [
        Client(TODAY, (str(engine_of(BEFORE, folder)),)),
        Client(GATHERS, (str(engine()),)),
        Client(WRK, (wrk,)),
    ]


def engine_of(revision: str, folder: Path) -> Path:
    """Builds the engine of a revision of this repository; what cargo compiled stays in target/."""
    archive = subprocess.check_output(["git", "-C", str(ROOT), "archive", revision])
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    target = ROOT / "target" / revision
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--target-dir", str(target)]
    subprocess.run(command, cwd=folder, check=True)
    return target / "release" / "deadheat-load"


Side = tuple[str, str]  # client and power state
Logs = dict[tuple[str, str, str], list[float]]  # server and side: log rates, round by round


def show(level: dict[str, Any]) -> None:
    logs: Logs = {}
    for load in level["loads"]:
        key = load["server"], load["client"], load["idle_cpus"]
        logs.setdefault(key, []).append(math.log(load["rate_per_s"]))
    servers = sorted({load["server"] for load in level["loads"]})
    clients = sorted({load["client"] for load in level["loads"]})
    sides = [(client, state) for client in clients for state in POWER_STATES]
    print(f"{level['connections']:>5} connections       ", *(f"{name:>16}" for name, _ in sides))
    print(f"{'idle CPUs':24}", *(f"{state:>16}" for _, state in sides))
    best = {
        server: max(sides, key=lambda side: statistics.mean(logs[server, *side]))
        for server in servers
    }
    _table("rate per s", servers, sides, lambda *key: f"{_mean(logs[key]):,.0f}")
    _table(
        "of the best",
        servers,
        sides,
        lambda server, *side: _ratio(
            _differences(logs[server, *side], logs[server, *best[server]])
        ),
    )
    print(
        f"  {'mean':22}", *(f"{_ratio(_of_best(logs, servers, best, side)):>16}" for side in sides)
    )
    _table(
        "of node-http",
        servers,
        sides,
        lambda server, *side: _ratio(_differences(logs[server, *side], logs[REFERENCE, *side])),
    )
    _table(
        "of node-http, awake over asleep",
        servers,
        [(c, "awake") for c in clients],
        lambda server, client, _: _ratio(_change(logs, server, client)),
    )
    print("scatter of a load beside the others of its server and round")
    scatters = [
        statistics.mean(_scatter(logs, server, sides, side) for server in servers) for side in sides
    ]
    print(f"{'':24}", *(f"{math.sqrt(scatter):>16.3f}" for scatter in scatters))
    for value in ("gathered_share", "run_wait_share"):
        _show_share(level, value, servers, sides)
    print()


def _table(
    title: str, servers: Sequence[str], sides: Sequence[Side], cell: Callable[..., str]
) -> None:
    print(title)
    for server in servers:
        print(f"  {server:22}", *(f"{cell(server, *side):>16}" for side in sides))


def _mean(logs: Sequence[float]) -> float:
    return math.exp(statistics.mean(logs))


def _differences(logs: Sequence[float], others: Sequence[float]) -> list[float]:
    return [log - other for log, other in zip(logs, others, strict=True)]


def _of_best(
    logs: Logs, servers: Sequence[str], best: Mapping[str, Side], side: Side
) -> list[float]:
    """The log ratio to the best client of each server, round by round: a mean over the servers."""
    ratios = [_differences(logs[server, *side], logs[server, *best[server]]) for server in servers]
    return [statistics.mean(of_round) for of_round in zip(*ratios, strict=True)]


def _change(logs: Logs, server: str, client: str) -> list[float]:
    """How the log ratio to the reference changes when idle CPUs are kept awake."""
    own, reference = (
        _differences(logs[name, client, "awake"], logs[name, client, "asleep"])
        for name in (server, REFERENCE)
    )
    return _differences(own, reference)


def _ratio(logs: Sequence[float]) -> str:
    error = statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.nan
    return f"{_mean(logs):.3f} +- {_mean(logs) * error:.3f}"


def _scatter(logs: Logs, server: str, sides: Sequence[Side], side: Side) -> float:
    """The variance of a load's log rate over the rounds, less what its server's loads share."""
    shared = [
        statistics.mean(values) for values in zip(*(logs[server, *s] for s in sides), strict=True)
    ]
    return statistics.variance(_differences(logs[server, *side], shared))


def _show_share(
    level: dict[str, Any], value: str, servers: Sequence[str], sides: Sequence[Side]
) -> None:
    shares: dict[tuple[str, str, str], list[float]] = {}
    for load in level["loads"]:
        if load.get(value) is not None:
            key = load["server"], load["client"], load["idle_cpus"]
            shares.setdefault(key, []).append(load[value])
    known = [side for side in sides if (servers[0], *side) in shares]
    if known:
        _table(f"mean {value}", servers, known, lambda *key: f"{statistics.mean(shares[key]):.2f}")


def _store(path: Path, level: dict[str, Any]) -> None:
    levels = json.loads(path.read_text())["levels"] if path.exists() else []
    levels = [other for other in levels if other["connections"] != level["connections"]]
    levels.append(level)
    levels.sort(key=lambda level: level["connections"])
    path.write_text(json.dumps({"levels": levels}) + "\n")


def _client(text: str) -> Client:
    name, _, command = text.partition("=")
    return Client(name, tuple(shlex.split(command)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.4, help="of a load but wrk's")
    parser.add_argument("--seed", type=int, default=1, help="of the order")
    parser.add_argument("--servers", nargs="*", default=FIELD, help="names in the catalog")
    parser.add_argument(
        "--client",
        action="append",
        type=_client,
        metavar="NAME=COMMAND",
        help="instead of the three; one named wrk is called as wrk",
    )
    parser.add_argument("--show", type=Path, help="print a stored result instead")
    parser.add_argument("-o", "--output", type=Path, help="store the level in this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
