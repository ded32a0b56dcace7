"""Which database a server gets by its environment, if one of its workloads has one."""

from deadheat.errors import DeadheatError
from deadheat.measure.contender import Contender
from deadheat.measure.lifecycle import StartFailed
from deadheat.measure.trial import workload_of
from deadheat.measure.world import World
from deadheat.protocol import Protocol
from deadheat.workload import Workload


def database_workload(protocol: Protocol, contender: Contender) -> Workload | None:
    """The workload with a database that a contender answers; a protocol has at most one."""
    for name in filter(contender.answers, protocol.workload_names):
        workload = workload_of(protocol, contender, name)
        if workload is not None and workload.database is not None:
            return workload
    return None


def database_env(world: World, contender: Contender, workload: Workload | None) -> dict[str, str]:
    """What the environment of a server of this workload adds; its database runs then.

    Raises `StartFailed`.
    """
    if world.database is None or contender.url is not None:
        return {}
    try:
        return world.database.environment(workload)
    except DeadheatError as error:
        fault = f"{contender.name} has no database: {error}"
        raise StartFailed(fault, "", error.hint) from error
