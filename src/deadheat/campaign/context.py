"""`RunContext`: what every part of a campaign needs to know about its run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from deadheat.campaign.past import Past
from deadheat.events import Listener
from deadheat.measure.warm_instance import EnteredContender
from deadheat.measure.world import World
from deadheat.protocol import Protocol
from deadheat.store import Store
from deadheat.workload import Level


@dataclass(frozen=True, slots=True)
class RunContext:
    """One run: what it measures, with what, where it is stored, and who listens."""

    world: World
    protocol: Protocol
    store: Store
    run_id: str
    entered_contenders: Sequence[EnteredContender]
    seed: int
    listen: Listener
    past: Past = field(default_factory=Past)
    begun_s: float = 0.0  # on the clock of the server host; see `begin`

    @classmethod
    def begin(
        cls,
        world: World,
        protocol: Protocol,
        store: Store,
        run_id: str,
        entered_contenders: Sequence[EnteredContender],
        seed: int,
        listen: Listener,
        past: Past | None = None,
    ) -> Self:
        """A run that begins now, or goes on from its past: pauses do not count."""
        past = past or Past()
        begun_s = world.server_host.now_s() - past.elapsed_s
        return cls(
            world, protocol, store, run_id, entered_contenders, seed, listen, past, begun_s
        )

    def now_s(self) -> float:
        """The time since the run began, without pauses."""
        return self.world.server_host.now_s() - self.begun_s

    @property
    def ends_s(self) -> float:
        """When the budget is spent, or the extension; a fixed number of repetitions has no end."""
        extension = self.past.extension
        return self.protocol.stopping.time_limit_s if extension is None else extension.until_s

    def unmeasured(self) -> set[str]:
        """The contenders and controls of which no trial in the past went well."""
        measured = {name for name, trial in self.past.measured if trial.state == "ok"}
        return {entered.contender.name for entered in self.entered_contenders} - measured

    def levels_of(self, name: str) -> tuple[Level, ...]:
        """The levels at which a contender is measured; all of one that is not entered."""
        entered = {each.contender.name: each.contender for each in self.entered_contenders}
        return entered[name].levels_of(self.protocol) if name in entered else self.protocol.levels

    def named(self, role: str) -> list[str]:
        """The contenders with a role: `contender` or `control`."""
        return [e.contender.name for e in self.entered_contenders if e.contender.role == role]
