"""A run: what every part of a campaign knows of it, and its row in the store, first to last."""

import math
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from deadheat import __version__
from deadheat.campaign.past import Past
from deadheat.campaign.resolve import make_ready
from deadheat.campaign.resume import Unfinished
from deadheat.errors import DeadheatError, LinkLost
from deadheat.events import Listener
from deadheat.measure.trial import TrialContext
from deadheat.measure.warm_up import EnteredContender, WarmInstance
from deadheat.measure.world import World, by_role
from deadheat.protocol import Protocol, SliceProtocol
from deadheat.store import Conclusion, Store
from deadheat.workload import Level

TICK_S = 0.25
STANDSTILL_S = 3.0  # between two ticks: longer than a busy machine makes a thread wait
P_co = TypeVar("P_co", bound=Protocol, covariant=True)


class Standstills:
    """How long this process stood still since it first asked, on the monotonic clock.

    Another process stopped it, or the machine stood.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last_s: float | None = None
        self._total_s = 0.0

    def total_s(self) -> float:
        """All standstills so far. One that has just ended is in it, whichever thread runs first."""
        with self._lock:
            if self._last_s is None:
                self._last_s = time.monotonic()
                threading.Thread(target=self._tick, daemon=True).start()
            self._note()
            return self._total_s

    def _tick(self) -> None:
        while True:
            time.sleep(TICK_S)
            with self._lock:
                self._note()

    def _note(self) -> None:
        now_s = time.monotonic()
        gap_s = now_s - (self._last_s or now_s)
        if gap_s > STANDSTILL_S:
            self._total_s += gap_s
        self._last_s = now_s


STANDSTILLS = Standstills()  # of this process


@dataclass(frozen=True, slots=True)
class RunContext(Generic[P_co]):
    """One run: what it measures, with what, where it is stored, and who listens.

    It begins when it is made, or goes on from its past: pauses do not count, and neither does a
    time in which this process was stopped. Its servers get certificates with keys of the protocol's
    kind.
    """

    world: World
    protocol: P_co
    store: Store
    run_id: str
    entered_contenders: Sequence[EnteredContender]
    seed: int
    listen: Listener
    past: Past = field(default_factory=Past)
    begun_s: float = field(init=False)  # on the clock of the server host
    stood_before_s: float = field(init=False)  # standstills before it began
    owed: set[str] = field(init=False)  # in a resumed run, those without a trial that went well

    def __post_init__(self) -> None:
        if (made := self.world.certificates) is not None:
            made = replace(made, key=self.protocol.tls_key)
            object.__setattr__(self, "world", replace(self.world, certificates=made))
        object.__setattr__(self, "begun_s", self.world.server_host.now_s() - self.past.elapsed_s)
        object.__setattr__(self, "stood_before_s", STANDSTILLS.total_s())
        measured = {name for name, trial in self.past.trials if trial.state == "ok"}
        names = {entered.contender.name for entered in self.entered_contenders}
        object.__setattr__(self, "owed", names - measured if self.past.is_resumed else set())

    def now_s(self) -> float:
        """The time since the run began, without pauses."""
        return self.world.server_host.now_s() - self.begun_s - self.stood_s

    @property
    def stood_s(self) -> float:
        """How long this process was stopped meanwhile."""
        return STANDSTILLS.total_s() - self.stood_before_s

    def levels_of(self, name: str) -> tuple[Level, ...]:
        """The levels at which a contender is measured; all of one that is not entered."""
        entered = {each.contender.name: each.contender for each in self.entered_contenders}
        return entered[name].levels_of(self.protocol) if name in entered else self.protocol.levels

    def trial_context(
        self, instance: WarmInstance, workload: str, kind: str, block: int
    ) -> TrialContext:
        """Where in the run a trial stands that begins now."""
        return TrialContext(
            run_id=self.run_id,
            contender_id=instance.entered.contender_id,
            instance_id=instance.instance_id,
            kind=kind,
            invocation=instance.invocation,
            block=block,
            heat=1,
            at_s=self.now_s(),
            steady=instance.warmed_on(workload).kind,
            workload=workload,
        )

    def named(self, role: str) -> list[str]:
        """The contenders with a role: `contender` or `control`."""
        return [e.contender.name for e in self.entered_contenders if e.contender.role == role]


class RaceContext(RunContext[SliceProtocol]):
    """A race in slices."""

    __slots__ = ()

    @property
    def ends_s(self) -> float:
        """When the budget is spent, or the extension; a fixed number of repetitions has no end."""
        extension = self.past.extension
        return self.protocol.stopping.time_limit_s if extension is None else extension.until_s

    def left_s(self, names: Iterable[str]) -> float:
        """What is left of the budget, which waits for a block of those of `names` it is owed to."""
        return math.inf if self.owed.intersection(names) else self.ends_s - self.now_s()


@dataclass(slots=True)
class Run:
    """An open run. At the end, `conclusion` says why it stopped."""

    id: str
    conclusion: Conclusion

    def conclude(self, **values: Any) -> None:
        """Set these fields of the conclusion. It is stored when the race or the run ends."""
        self.conclusion = self.conclusion.changed(**values)

    def end_as(self, why: str) -> None:
        """Why it stopped, if nothing closer to it has said so."""
        self.conclude(why=self.conclusion.why or why)


@contextmanager
def open_run(
    store: Store,
    world: World,
    protocol: Protocol,
    command: Sequence[str],
    seed: int,
    known: Conclusion | None = None,
) -> Iterator[Run]:
    """Begin a run and store its hosts; end it as complete, interrupted or failed.

    `protocol` is the one that runs (see `resolve`). `known` is the part of its conclusion that is
    known from the start.
    """
    run_id = store.begin_run(
        protocol=protocol,
        command=command,
        seed=seed,
        deadheat_version=__version__,
        generator_version=f"{world.generator.name} {world.generator_version}",
        conclusion=known,
    )
    with _ended(store, Run(run_id, known or Conclusion())) as run:
        store.add_host(run.id, "server", world.server_cpus, world.server_host.fingerprint())
        for role, side in by_role(world.loads).items():
            store.add_host(run.id, role, side.cpus, side.host.fingerprint())
        yield run


@contextmanager
def reopen_run(store: Store, world: World, left: Unfinished) -> Iterator[Run]:
    """Resume a run that ended early, under the same id; end it as `open_run` does."""
    make_ready(left.protocol, world)
    left.require_same(world)
    run = Run(left.id, left.resumed())
    store.reopen_run(run.id, left.run.writer, run.conclusion)
    with _ended(store, run):
        yield run


@contextmanager
def _ended(store: Store, run: Run) -> Iterator[Run]:
    """End the run in the state that the block leaves it in."""
    state = "failed"
    try:
        yield run
        state = "complete"
    except KeyboardInterrupt:
        state = "interrupted"
        run.end_as("interrupted")
        raise
    except (DeadheatError, LinkLost) as error:
        run.end_as(str(error))
        raise
    finally:
        run.end_as("an error ended it" if state == "failed" else "done")
        store.end_run(run.id, state, run.conclusion)
