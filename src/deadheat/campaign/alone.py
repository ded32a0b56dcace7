"""Alone: starts, loads and stops one contender after the other, as published comparisons did.

Each contender runs at another time, so trials are not paired and ratios have no interval.
"""

import random
from collections.abc import Iterator, Mapping, Sequence

from deadheat.campaign.context import RunContext
from deadheat.campaign.schedule import Step, steps_left
from deadheat.campaign.standings import Look, Standings
from deadheat.events import Event, Progress
from deadheat.measure import lifecycle
from deadheat.measure.contender import NULL_SERVER
from deadheat.measure.recovery import recover
from deadheat.measure.starter import Starter, Unfit
from deadheat.measure.trial import TrialContext, load_spec, measure
from deadheat.measure.warm_instance import EnteredContender, WarmInstance
from deadheat.protocol import Protocol
from deadheat.store import TrialRecord
from deadheat.workload import Level


class Alone:
    """Runs the trials of a protocol contender by contender, and stores each as it ends."""

    def __init__(self, run: RunContext, labels: Mapping[str, str]) -> None:
        world, protocol, past = run.world, run.protocol, run.past
        self._world = world
        self._protocol = protocol
        self._store = run.store
        self._run_id = run.run_id
        self._entered = _in_order(run.entered_contenders, protocol, run.seed)
        self._labels = labels
        self._listen = run.listen
        self._starter = Starter(world, protocol, run.store, run.listen)
        self._past = past
        self._begun_s = world.server_host.now_s() - self._past.elapsed_s
        self._trials_done = len(self._past.measured)
        self._trials_planned = self._trials_done + sum(
            len(list(self._steps_left(entered))) for entered in self._entered
        )
        self._standings = Standings(
            protocol, [e.contender.name for e in run.entered_contenders], [NULL_SERVER]
        )
        self._standings.recall(self._past)

    def run(self) -> Look:
        """Measure every contender. An interrupt loses no trial that has ended."""
        for entered in self._entered:
            self._series(entered)
        return Look(None, 1.0, settled=False)

    def _series(self, entered: EnteredContender) -> None:
        """All trials of one contender. If it dies, it is restarted for its next trial."""
        warm: WarmInstance | None = None
        starts = self._past.starts.get(entered.contender.name, 0)
        rates_per_s: list[float] = []
        try:
            for step in self._steps_left(entered):
                if warm is not None and (step.starts or not self._is_running(warm)):
                    self._starter.stop(warm)
                    warm = None
                if warm is None:
                    starts += 1
                    warm = self._starter.start(entered, starts, self._now_s())
                    lifecycle.thaw(self._world, warm.instance)
                record = self._trial(warm, step)
                rates_per_s.append(record.rate_per_s or 0.0)
                if self._protocol.recovery and not self._recovers(warm, step, rates_per_s[0]):
                    return
        except Unfit as error:
            self._standings.drop(entered.contender.name, str(error))
        finally:
            if warm is not None:
                self._starter.stop(warm)

    def _steps_left(self, entered: EnteredContender) -> Iterator[Step]:
        return steps_left(self._protocol, self._labels, entered.contender.name, self._past)

    def _trial(self, warm: WarmInstance, step: Step) -> TrialRecord:
        self._report_progress(warm.name, step)
        level = Level(self._protocol.workload_names[0], step.connections)
        record = measure(
            self._world,
            warm.instance,
            load_spec(self._protocol, warm.instance, step.connections),
            self._context(warm, step, "measure"),
            self._standings.ceiling_per_s(level),
            self._standings.clock_khz_max(warm.name, level),
            warm.workers,
        )
        self._store.add_trial(record)
        self._standings.add(warm.name, record)
        self._trials_done += 1
        if record.state == "failed":
            failure = f"{warm.name} at {record.connections}: {record.reason}"
            self._listen(Event(failure, trouble=True))
        return record

    def _recovers(self, warm: WarmInstance, step: Step, rate_per_s: float) -> bool:
        """Whether it reaches its first trial's rate again; stores the recovery."""
        self._listen(Progress(f"{warm.name}: recovering from trial {step.repetition}"))
        record = recover(
            self._world,
            warm.instance,
            self._protocol,
            self._context(warm, step, "recovery"),
            rate_per_s,
        )
        self._store.add_trial(record)
        if record.state == "failed":
            failure = f"{warm.name} ends its series after trial {step.repetition}: {record.reason}"
            self._listen(Event(failure, trouble=True))
        return record.state == "ok"

    def _context(self, warm: WarmInstance, step: Step, kind: str) -> TrialContext:
        return TrialContext(
            run_id=self._run_id,
            contender_id=warm.entered.contender_id,
            instance_id=warm.instance_id,
            kind=kind,
            invocation=1,
            block=step.repetition,
            heat=1,
            at_s=self._now_s(),
            steady=warm.warmed.kind,
            workload=self._protocol.workload_names[0],
        )

    def _is_running(self, warm: WarmInstance) -> bool:
        return lifecycle.ended(self._world, warm.instance) is None

    def _report_progress(self, name: str, step: Step) -> None:
        left = self._trials_planned - self._trials_done
        left_s = left * self._now_s() / self._trials_done if self._trials_done else None
        what = f"{name}: repetition {step.repetition} at {step.connections}"
        self._listen(Progress(what, done=self._trials_done, of=self._trials_planned, left_s=left_s))

    def _now_s(self) -> float:
        return self._world.server_host.now_s() - self._begun_s


def _in_order(
    entered_contenders: Sequence[EnteredContender], protocol: Protocol, seed: int
) -> list[EnteredContender]:
    """The null server first, because its rate is the ceiling of all others.

    In a random order, the place of a contender depends only on its name and the seed, so a resumed
    run keeps the order.
    """
    contenders = [
        entered for entered in entered_contenders if entered.contender.role == "contender"
    ]
    if protocol.order == "random":
        contenders.sort(key=lambda e: random.Random(f"{seed} {e.contender.name}").random())
    return [*(e for e in entered_contenders if e.contender.name == NULL_SERVER), *contenders]
