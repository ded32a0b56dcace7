"""What limited a rate: the client, the server's CPUs, too few workers, or no CPU.

Something always limits a closed loop. If it is not a CPU, requests wait: for each other on too few
connections, for a timer, a lock, a disk, or a delayed acknowledgment.
"""

import enum
from collections.abc import Iterator

from deadheat import numbers
from deadheat.report.findings.analysis import Level
from deadheat.report.model.statement import Statement
from deadheat.report.model.view import Cell, ContenderView, RunView

FULL_SHARE = 0.85  # of a CPU counts as full: scheduling and the kernel take the rest
NAMED = 6


class Limit(enum.StrEnum):
    CLIENT = "client"
    WAITING = "waiting"
    WORKERS = "workers"
    CPU = "cpu"


def limit_of(view: RunView, contender: ContenderView, cell: Cell) -> Limit | None:
    """What limited the trials behind the figures; None if the server's CPU time is unknown."""
    if view.outran_client(contender.name, cell.connections):
        return Limit.CLIENT
    used = cell.server_cpus_used
    if used is None or not view.server_cpus:
        return None
    if used + (cell.database_cpus_used or 0.0) >= FULL_SHARE * view.server_cpus:
        return Limit.CPU
    if contender.workers < view.server_cpus and used >= FULL_SHARE * contender.workers:
        return Limit.WORKERS
    return Limit.WAITING


def limits(view: RunView, level: Level) -> Iterator[Statement]:
    """A statement for each limit that some contender reached, in the order of `Limit`."""
    names_by_limit: dict[Limit, list[str]] = {limit: [] for limit in Limit}
    for standing in level.standings:
        limit = limit_of(view, standing.contender, standing.cell)
        if limit is not None:
            names_by_limit[limit].append(standing.name + _used_share(view, limit, standing.cell))
    known = sum(map(len, names_by_limit.values()))
    cpus = numbers.count(view.server_cpus, "CPU")
    for limit, names in names_by_limit.items():
        if names:
            yield Statement("limited by", _limit_text(limit, _named(names, known), cpus))


def _limit_text(limit: Limit, names: str, cpus: str) -> str:
    match limit:
        case Limit.CLIENT:
            return f"the client: {names}"
        case Limit.WAITING:
            return (
                f"no CPU: {names} left part of the server's {cpus} idle; requests waited for a "
                "timer, a lock, a disk or an acknowledgment, or there were too few of them"
            )
        case Limit.WORKERS:
            return f"too few workers to use the server's {cpus}: {names}"
        case Limit.CPU:
            return f"the server's {cpus}: {names}"


def _named(names: list[str], known: int) -> str:
    if len(names) == known > 1:
        return f"all {known}"
    if len(names) > NAMED:
        return f"{len(names)} of {known}"
    return numbers.listing(names)


def _used_share(view: RunView, limit: Limit, cell: Cell) -> str:
    """The share of its CPUs that a server used, if its requests waited, and its database's."""
    parts = []
    if limit is Limit.WAITING and cell.server_cpus_used is not None:
        parts.append(f"{numbers.percent(cell.server_cpus_used / view.server_cpus, 0)} used")
    if limit is not Limit.CLIENT and cell.database_cpus_used is not None:
        share = numbers.percent(cell.database_cpus_used / view.server_cpus, 0)
        parts.append(f"{share} by the database")
    return f" ({', '.join(parts)})" if parts else ""
