"""Inspections of many servers in turn, and the file that keeps them for a later call."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from deadheat.build.builder import Builder
from deadheat.build.prepare import Candidate, prepare
from deadheat.catalog import Selection, Server
from deadheat.errors import DeadheatError
from deadheat.events import Board, Event, Listener, Progress
from deadheat.home import write_whole
from deadheat.measure.inspection import Inspection, inspect
from deadheat.measure.review import FREEZE_S, freeze_faults
from deadheat.measure.world import World
from deadheat.workload import Workload

FROZEN_TOGETHER = 16  # instances, which need memory at the same time
# Messages of the C library, curl, Java, Node and Erlang if a host cannot be resolved or reached.
UNREACHABLE = re.compile(
    r"Name or service not known|Temporary failure in name resolution|Could not resolve host"
    r"|Network is unreachable|No route to host|UnknownHostException|Unknown host"
    r"|ENOTFOUND|EAI_AGAIN|nxdomain"
)


@dataclass(frozen=True, slots=True)
class KeptInspections:
    """The inspections in the file of --output, by name; `path` is None without one."""

    path: Path | None
    rows: dict[str, Inspection]

    @classmethod
    def read(cls, path: Path | None) -> "KeptInspections":
        """Raises `DeadheatError` for another kind of file, which must not be overwritten."""
        if path is None or not path.exists():
            return cls(path, {})
        try:
            rows = [Inspection.from_json(row) for row in json.loads(path.read_text("utf-8"))]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DeadheatError(
                f"--output {path}: not a file of `deadheat verify -o`: {error!r}",
                "choose another file, or remove this one",
            ) from error
        return cls(path, {row.name: row for row in rows})

    @property
    def all(self) -> list[Inspection]:
        return [self.rows[name] for name in sorted(self.rows)]

    def of(
        self, selection: Selection, build_key: str | None, levels: tuple[int, ...]
    ) -> Inspection | None:
        """The kept inspection of this build, source and load, if the server worked; else None."""
        row = self.rows.get(selection.name)
        if row is None or row.fault is not None:
            return None
        if (row.build_key, row.source_key) != (build_key, selection.source_key):
            return None
        return row if set(map(str, levels)) <= set(row.served) else None

    def add(self, inspection: Inspection) -> None:
        self.rows[inspection.name] = inspection
        if self.path is not None:
            write_whole(self.path, json.dumps([row.to_json() for row in self.all], indent=1) + "\n")


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
            servers = "1 server" if len(to_freeze) == 1 else f"{len(to_freeze)} servers"
            listen(Progress(f"{servers} frozen for {FREEZE_S:g} s"))
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
