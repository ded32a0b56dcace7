"""Builds and inspects servers in turn, for `verify`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from deadheat.build.builder import Builder
from deadheat.build.prepare import Candidate, prepare
from deadheat.catalog import Selection, Server
from deadheat.cli.kept_inspections import KeptInspections
from deadheat.events import Board, Event, Listener, Progress
from deadheat.measure.inspection import Inspection, inspect
from deadheat.measure.review import FREEZE_S, freeze_faults
from deadheat.measure.world import World
from deadheat.report.format import count
from deadheat.workload import Workload

FROZEN_TOGETHER = 16  # instances, which need memory at the same time
# Messages of the C library, curl, Java, Node and Erlang if a host cannot be resolved or reached.
UNREACHABLE = re.compile(
    r"Name or service not known|Temporary failure in name resolution|Could not resolve host"
    r"|Network is unreachable|No route to host|UnknownHostException|Unknown host"
    r"|ENOTFOUND|EAI_AGAIN|nxdomain"
)


def inspect_all(
    world: World,
    builder: Builder,
    selections: list[Selection],
    kept: KeptInspections,
    levels: tuple[int, ...],
    freeze: bool,
    workloads: Mapping[str, Workload],
    listen: Listener,
) -> Iterator[Inspection]:
    """Build and inspect in turn. A kept inspection of the same build is not repeated.

    With `freeze`, groups of servers are frozen at the same time after their inspections.
    """
    together = FROZEN_TOGETHER if freeze else 1
    for first in range(0, len(selections), together):
        to_freeze: list[tuple[Candidate, Inspection]] = []
        for position, chosen in enumerate(selections[first : first + together], first):
            numbered = _numbered(listen, position, len(selections))
            (candidate,) = prepare([chosen], world.server_host, builder, numbered)
            key = candidate.built.key if candidate.built else None
            inspection = kept.of(chosen, key, levels)
            if inspection is None:
                names = chosen.server.manifest.workloads
                own = [workloads[name] for name in names if name in workloads]
                inspected = inspect(world, candidate, levels, own)
                inspection = _excuse_registry(inspected, chosen.server)
            if freeze and inspection.fault is None and inspection.frozen_s is None:
                kept.add(inspection)  # if the command is stopped, only the freeze is repeated
                to_freeze.append((candidate, inspection))
            else:
                yield inspection
        if to_freeze:
            listen(Progress(f"{count(len(to_freeze), 'server')} frozen for {FREEZE_S:g} s"))
            faults = freeze_faults(world, [candidate for candidate, _ in to_freeze])
            for (_, inspection), fault in zip(to_freeze, faults, strict=True):
                yield replace(inspection, frozen_s=FREEZE_S, fault=fault)


def _numbered(listen: Listener, position: int, of: int) -> Listener:
    """Counts over all selections: each is prepared on its own, as one of one."""

    def listen_numbered(event: Progress | Event | Board) -> None:
        listen(replace(event, done=position, of=of) if isinstance(event, Progress) else event)

    return listen_numbered


def _excuse_registry(inspection: Inspection, server: Server) -> Inspection:
    """Count a build that could not reach its registry as missing here, not as a failed server."""
    match = UNREACHABLE.search(inspection.words)
    if inspection.build_key is not None or inspection.lacks or match is None:
        return inspection
    return replace(
        inspection,
        fault=f"{server.name} is left out: its registry cannot be reached ({match.group()})",
        words="",
        lacks=(f"deadheat build {server.name}  # with access to the registry",),
    )
