#!/usr/bin/env python3
"""Do the four workers of the setting `multicore` share the work? One line for each server.

    python bench/multicore.py [SERVER]... [--all-cpus] [--output docs/results/multicore.json]

Starts each server in its default and in `multicore`, checks its answer, loads it for two seconds
with 64 connections, and reads the CPU time of each of its processes and threads before and after.
Busy workers are those with at least 5 % of the sum. The names of busy threads tell workers from the
threads of a runtime, such as a compiler. With --all-cpus, the server may use the CPUs of the load
generator too: on a machine with two CPUs it has one otherwise, and the Erlang machine then needs
only one of its schedulers. A rate is not measured. A server that cannot be built here is left
out. The file keeps the servers of earlier calls.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from deadheat.build.builder import Builder
from deadheat.build.prepare import Candidate, prepare
from deadheat.catalog import Server, choose, find_root, load_catalog, selection
from deadheat.errors import DeadheatError
from deadheat.events import Event
from deadheat.home import home
from deadheat.measure import lifecycle
from deadheat.measure.contender import contender_from
from deadheat.measure.hosts import local_world
from deadheat.measure.inspection import load_server
from deadheat.measure.verify import verify
from deadheat.measure.world import World

CONNECTIONS = 64
LOAD_S = 2.0
BUSY_SHARE = 0.05
ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description="do the workers of `multicore` share the work?")
    parser.add_argument("servers", nargs="*")
    parser.add_argument("--all-cpus", action="store_true")
    parser.add_argument("--output", type=Path, default=ROOT / "docs/results/multicore.json")
    args = parser.parse_args()
    results = json.loads(args.output.read_text()) if args.output.exists() else {}
    servers = choose(load_catalog(find_root(str(ROOT))), args.servers)
    with local_world("engine", 1) as disjoint:
        world = disjoint
        if args.all_cpus:
            world = replace(world, server_cpus=(*world.server_cpus, *world.load.cpus))
        builder = Builder(world.server_host, home() / "builds")
        for server in servers:
            if "multicore" not in server.settings:
                continue
            result = compare(world, builder, server)
            print(f"{server.name}: {json.dumps(result)}", flush=True)
            if "default" in result:
                results[server.name] = result
                text = json.dumps(dict(sorted(results.items())), indent=1)
                args.output.write_text(text + "\n")
    return 0


def compare(world: World, builder: Builder, server: Server) -> dict[str, Any]:
    chosen = [selection(server, name) for name in ("default", "multicore")]
    candidates = prepare(chosen, world.server_host, builder, tell)
    if lacks := candidates[0].lacks:
        return {"lacks": list(lacks)}
    if candidates[0].built is None:
        return {"fault": (candidates[0].fault or "").splitlines()[0]}
    result: dict[str, Any] = {
        "version": candidates[0].version,
        "worker": server.start.worker,
        "server_cpus": len(world.server_cpus),
    }
    for candidate in candidates:
        try:
            result[candidate.selection.setting] = busy(world, candidate)
        except DeadheatError as error:
            result[candidate.selection.setting] = {"fault": str(error).splitlines()[0]}
    return result


def busy(world: World, candidate: Candidate) -> dict[str, Any]:
    """The workers asked for, and how many processes and threads worked under load."""
    assert candidate.built is not None
    contender = contender_from(candidate.selection, candidate.built)
    instance = lifecycle.start(world, contender)
    try:
        behavior = verify(
            world.server_host, instance.address, contender.media_type, deadline_s=contender.ready_s
        )
        load_server(world, instance, CONNECTIONS, LOAD_S)  # warms it up
        before = cpu_ticks(world, instance.process)
        result = load_server(world, instance, CONNECTIONS, LOAD_S)
        after = cpu_ticks(world, instance.process)
    finally:
        lifecycle.stop(world, instance)
    used = {key: after[key] - before.get(key, 0) for key in after}
    processes: dict[int, int] = {}
    for (pid, _, _), ticks in used.items():
        processes[pid] = processes.get(pid, 0) + ticks
    least = BUSY_SHARE * max(sum(used.values()), 1)
    return {
        "workers": contender.workers,
        "busy_processes": sum(ticks >= least for ticks in processes.values()),
        "busy_threads": sum(ticks >= least for ticks in used.values()),
        "busy_thread_names": sorted(name for (*_, name), ticks in used.items() if ticks >= least),
        "connections_served": result.connections_served,
        "errors": result.errors_total,
        "fault": behavior.fault,
    }


def cpu_ticks(world: World, process: str) -> dict[tuple[int, int, str], int]:
    """CPU time by process, thread and the thread's name, in clock ticks."""
    ticks = {}
    for pid, _ in world.server_host.members(process):
        for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
            try:
                head, _, rest = stat.read_text().rpartition(")")
            except OSError:  # it has just ended
                continue
            fields, name = rest.split(), head.partition("(")[2]
            ticks[pid, int(stat.parent.name), name] = int(fields[11]) + int(fields[12])
    return ticks


def tell(event: object) -> None:
    if isinstance(event, Event):
        print(f"  {event}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
