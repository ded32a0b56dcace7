"""Alone: one contender after the other is started, loaded level by level, and stopped.

What the published comparisons did. Each contender sees other minutes of the machine, so nothing is
paired and no interval of a ratio follows.
"""

import random
from collections.abc import Iterator, Mapping, Sequence

from deadheat.campaign.past import Past
from deadheat.campaign.schedule import Step, steps_left
from deadheat.campaign.standings import Look, Standings
from deadheat.events import Event, Listener, Progress
from deadheat.measure import lifecycle
from deadheat.measure.contender import NULL_SERVER
from deadheat.measure.recovery import recover
from deadheat.measure.starter import Entrant, Starter, Unfit, WarmInstance
from deadheat.measure.trial import TrialContext, load_spec, measure
from deadheat.measure.world import World
from deadheat.protocol import Protocol
from deadheat.store import Store, TrialRecord


class Alone:
    """Runs a protocol's trials contender by contender and keeps each the moment it ends."""

    def __init__(
        self,
        world: World,
        protocol: Protocol,
        store: Store,
        run_id: str,
        entrants: Sequence[Entrant],
        labels: Mapping[str, str],
        seed: int,
        listen: Listener,
        past: Past | None = None,
    ) -> None:
        self._world = world
        self._protocol = protocol
        self._store = store
        self._run_id = run_id
        self._entrants = _in_order(entrants, protocol, seed)
        self._labels = labels
        self._listen = listen
        self._starter = Starter(world, protocol, store, listen)
        self._past = past or Past()
        self._begun_s = world.server_host.now_s() - self._past.elapsed_s
        self._trials = len(self._past.measured)
        self._of = self._trials + sum(
            len(list(self._steps_left(entrant))) for entrant in self._entrants
        )
        self._standings = Standings(protocol, [e.contender.name for e in entrants], [NULL_SERVER])
        self._standings.recall(self._past.measured)

    def run(self) -> Look:
        """Measure each to its end. What has been measured is in the store, whatever ends this."""
        for entrant in self._entrants:
            self._series(entrant)
        return Look(None, 1.0, settled=False)

    def _series(self, entrant: Entrant) -> None:
        """All trials of one contender; one that dies is started anew for its next trial."""
        started: WarmInstance | None = None
        starts = self._past.starts.get(entrant.contender.name, 0)
        rates_per_s: list[float] = []
        try:
            for step in self._steps_left(entrant):
                if started is not None and (step.starts or not self._lives(started)):
                    self._starter.stop(started)
                    started = None
                if started is None:
                    starts += 1
                    started = self._starter.start(entrant, starts, self._now_s())
                    lifecycle.thaw(self._world, started.instance)
                record = self._trial(started, step)
                rates_per_s.append(record.rate_per_s or 0.0)
                if self._protocol.recovery and not self._recovers(started, step, rates_per_s[0]):
                    return
        except Unfit:
            self._standings.drop(entrant.contender.name)
        finally:
            if started is not None:
                self._starter.stop(started)

    def _steps_left(self, entrant: Entrant) -> Iterator[Step]:
        return steps_left(self._protocol, self._labels, entrant.contender.name, self._past)

    def _trial(self, one: WarmInstance, step: Step) -> TrialRecord:
        self._tell(one.name, step)
        record = measure(
            self._world,
            one.instance,
            load_spec(self._protocol, one.instance, step.connections),
            self._slot(one, step, "measure"),
            self._standings.ceiling_per_s(step.connections),
            self._standings.clock_khz_max(one.name, step.connections),
        )
        self._store.add_trial(record)
        self._standings.add(one.name, record)
        self._trials += 1
        if record.state == "failed":
            told = f"{one.name} at {record.connections}: {record.reason}"
            self._listen(Event(told, trouble=True))
        return record

    def _recovers(self, one: WarmInstance, step: Step, rate_per_s: float) -> bool:
        """Whether it serves its first trial's rate again; what it did until then is kept."""
        self._listen(Progress(f"{one.name}: recovering from trial {step.repetition}"))
        record = recover(
            self._world,
            one.instance,
            self._protocol,
            self._slot(one, step, "recovery"),
            rate_per_s,
        )
        self._store.add_trial(record)
        if record.state == "failed":
            told = f"{one.name} ends its series after trial {step.repetition}: {record.reason}"
            self._listen(Event(told, trouble=True))
        return record.state == "ok"

    def _slot(self, one: WarmInstance, step: Step, kind: str) -> TrialContext:
        return TrialContext(
            run_id=self._run_id,
            contender_id=one.entrant.contender_id,
            instance_id=one.instance_id,
            kind=kind,
            invocation=1,
            block=step.repetition,
            heat=1,
            at_s=self._now_s(),
            steady=one.warmed.kind,
        )

    def _lives(self, one: WarmInstance) -> bool:
        return lifecycle.ended(self._world, one.instance) is None

    def _tell(self, name: str, step: Step) -> None:
        left = self._of - self._trials
        left_s = left * self._now_s() / self._trials if self._trials else None
        doing = f"{name}: repetition {step.repetition} at {step.connections}"
        self._listen(Progress(doing, done=self._trials, of=self._of, left_s=left_s))

    def _now_s(self) -> float:
        return self._world.server_host.now_s() - self._begun_s


def _in_order(entrants: Sequence[Entrant], protocol: Protocol, seed: int) -> list[Entrant]:
    """The null server first, since what the client reaches against it bounds all the others.

    In a random order each rival has a place of its own, whoever else takes part: so a run that
    goes on later goes on in the same order.
    """
    contenders = [entrant for entrant in entrants if entrant.contender.role == "contender"]
    if protocol.order == "random":
        contenders.sort(key=lambda one: random.Random(f"{seed} {one.contender.name}").random())
    return [*(e for e in entrants if e.contender.name == NULL_SERVER), *contenders]
