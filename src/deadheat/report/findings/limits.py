"""What limited a rate: the client, the server's CPUs, its workers, or none of them.

A closed loop always runs into something. Where it is not a CPU, the requests waited: for one
another on too few connections, for a timer, a lock, a disk, or an acknowledgement held back.
"""

import enum
from collections.abc import Iterator

from deadheat.report import format
from deadheat.report.findings.analysis import Level
from deadheat.report.findings.bounds import CLIENT_LIMITS
from deadheat.report.model.statement import Statement
from deadheat.report.model.view import Cell, ContenderView, RunView

FULL_SHARE = 0.85  # of a CPU: scheduling and the kernel's own work take the rest
NAMED = 6


class Limit(enum.StrEnum):
    CLIENT = "client"
    WAITING = "waiting"
    WORKERS = "workers"
    CPU = "cpu"


def limit_of(view: RunView, one: ContenderView, cell: Cell) -> Limit | None:
    """Of the trials behind the figures; None where the server's CPU time is not known."""
    cautioned = sum(any(g.code in CLIENT_LIMITS for g in t.gates_failed) for t in cell.counted)
    if 2 * cautioned > len(cell.counted):
        return Limit.CLIENT
    used = cell.server_cpus_used
    if used is None or not view.server_cpus:
        return None
    if used >= FULL_SHARE * view.server_cpus:
        return Limit.CPU
    if one.workers < view.server_cpus and used >= FULL_SHARE * one.workers:
        return Limit.WORKERS
    return Limit.WAITING


def limits(view: RunView, level: Level) -> Iterator[Statement]:
    """A statement for each limit that some contender ran into, the common one last."""
    found: dict[Limit, list[str]] = {limit: [] for limit in Limit}
    for one in level.standings:
        limit = limit_of(view, one.contender, one.cell)
        if limit is not None:
            found[limit].append(one.name + _share(view, limit, one.cell.server_cpus_used))
    known = sum(map(len, found.values()))
    cpus = format.count(view.server_cpus, "CPU")
    for limit, names in found.items():
        if names:
            yield Statement("limited by", _told(limit, _who(names, known), cpus))


def _told(limit: Limit, who: str, cpus: str) -> str:
    match limit:
        case Limit.CLIENT:
            return f"the client: {who}"
        case Limit.WAITING:
            return (
                f"no CPU: {who} of the server's {cpus}; requests wait, for a timer, a lock, a "
                "disk or an acknowledgement, or there are too few of them"
            )
        case Limit.WORKERS:
            return f"the CPU of its workers, fewer than the server's {cpus}: {who}"
        case Limit.CPU:
            return f"the server's {cpus}: {who}"


def _who(names: list[str], known: int) -> str:
    if len(names) == known > 1:
        return f"all {known}"
    if len(names) > NAMED:
        return f"{len(names)} of {known}"
    return format.listing(names)


def _share(view: RunView, limit: Limit, used: float | None) -> str:
    """How little of its CPUs a server used whose requests wait."""
    if limit is not Limit.WAITING or used is None:
        return ""
    return f" ({format.percent(used / view.server_cpus, 0)})"
