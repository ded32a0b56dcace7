"""What an instance uses before its first load, and what its build holds.

Every start is read once: its memory, processes and threads after its first right answers. The
protocol of `deadheat footprint` also opens idle connections, each of which was served once, also
where the workload has a connection for each request.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from deadheat.catalog import Selection
from deadheat.catalog.lock_file import locked_packages
from deadheat.errors import DeadheatError
from deadheat.host import HostError, ThreadTime
from deadheat.load.engine import SliceRequest
from deadheat.measure import lifecycle
from deadheat.measure.contender import Instance
from deadheat.measure.load_process import close_load, load_slice, open_load
from deadheat.measure.trial import load_spec
from deadheat.measure.warm_up import EnteredContender
from deadheat.measure.world import World
from deadheat.protocol import AloneProtocol, Protocol
from deadheat.store import BuildFacts
from deadheat.strict import JsonObject

SERVE_S = (0.1, 1.0, 5.0)  # of load, until each connection was served in one of them
SETTLE_S = 0.3  # until memory is read


def threads_of(world: World, instance: Instance) -> Sequence[ThreadTime]:
    """Its living threads; none where its processes are not seen, or a user's own has ended."""
    try:
        process = instance.read_process
        return world.server_host.threads(process) if process else ()
    except HostError:
        return ()


def read_footprint(world: World, protocol: Protocol, instance: Instance) -> JsonObject | None:
    """Usage as it is stored: `idle`, and `connections` with a reading for each number of them.

    `held` of a reading is how many of the connections were served. None if the processes of the
    instance are not seen.
    """
    usage = lifecycle.usage(world, instance)
    if usage is None:
        return None
    readings = []
    idle_connections = protocol.idle_connections if isinstance(protocol, AloneProtocol) else ()
    for connections in sorted(idle_connections):
        spec = replace(load_spec(protocol, instance, connections), keep_alive=True)
        try:
            load = open_load(world, spec)
        except DeadheatError as error:
            readings.append({"asked": connections, "held": 0, "fault": str(error)})
            break
        try:
            held = 0
            for duration_s in SERVE_S:
                if held < connections:
                    result = load_slice(world, load, SliceRequest(duration_s))
                    held = max(held, result.connections_served or 0)
            world.server_host.sleep(SETTLE_S)
            after = lifecycle.usage(world, instance)
            used = asdict(after) if after else {}
            readings.append({"asked": connections, "held": held, **used})
        except DeadheatError as error:
            readings.append({"asked": connections, "held": 0, "fault": str(error)})
            break
        finally:
            close_load(load)
    return {"idle": asdict(usage), **({"connections": readings} if readings else {})}


def build_facts(
    selections: Sequence[Selection], entered: Sequence[EnteredContender]
) -> dict[str, BuildFacts]:
    """Of each contender of the catalog whose build is a folder of this machine."""
    servers = {each.name: each.server for each in selections}
    return {
        each.contender.name: BuildFacts(
            size_bytes=folder_bytes(each.contender.cwd),
            dependencies=locked_packages(servers[each.contender.name]),
        )
        for each in entered
        if each.contender.name in servers
    }


def folder_bytes(folder: str | None) -> int | None:
    """The sizes of all files below a folder, each once; None if there is none here."""
    if folder is None or not Path(folder).is_dir():
        return None
    seen: dict[tuple[int, int], int] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # a file that vanished meanwhile
                stat = Path(place, name).lstat()
                seen[stat.st_dev, stat.st_ino] = stat.st_size
    return sum(seen.values())
