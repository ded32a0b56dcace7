"""`WarmInstance`: a contender's instance that is ready to be measured."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deadheat.measure.contender import Contender
from deadheat.measure.lifecycle import Instance, Workers
from deadheat.measure.load_process import LoadProcess
from deadheat.measure.warm_up import Warmed
from deadheat.workload import Level


@dataclass(frozen=True, slots=True)
class EnteredContender:
    """A contender with its row in the store."""

    contender: Contender
    contender_id: int


@dataclass(frozen=True, slots=True)
class WarmInstance:
    """A verified, warm and frozen instance, with its row in the store.

    `loads` maps a level to the resident load process that keeps its connections open; it is empty
    where the protocol has no slices. A control has one process for all workloads. `took_s` is what
    starting and warming took. `warmed` is the warm-up on the first workload of a contender;
    `warmed_later` has those on the others, by workload.
    """

    entered: EnteredContender
    instance: Instance
    instance_id: int
    warmed: Warmed
    invocation: int = 1
    loads: Mapping[Level, LoadProcess] = field(default_factory=dict)
    took_s: float = 0.0
    workers: Workers | None = None  # None: it is not ours
    warmed_later: Mapping[str, Warmed] = field(default_factory=dict)
    database: str | None = None  # the process of the workload's database

    @property
    def name(self) -> str:
        return self.entered.contender.name

    def warmed_on(self, workload: str) -> Warmed:
        """Its warm-up on a workload."""
        return self.warmed_later.get(workload, self.warmed)
