"""Alone: starts, loads and stops one contender after the other, as published comparisons did.

Each contender runs at another time, so trials are not paired and ratios have no interval.
"""

import random
from collections.abc import Iterator, Mapping, Sequence

from deadheat.campaign.run import RunContext
from deadheat.campaign.schedule import Step, steps_left
from deadheat.campaign.trials import TrialRunner
from deadheat.events import Event, Progress
from deadheat.measure import lifecycle
from deadheat.measure.recovery import recover
from deadheat.measure.starter import Starter, Unfit
from deadheat.measure.trial import TrialContext, load_spec
from deadheat.measure.warm_up import EnteredContender, WarmInstance
from deadheat.protocol import AloneProtocol
from deadheat.store import TrialRecord


class Alone:
    """Runs the trials of a protocol contender by contender, and stores each as it ends."""

    def __init__(self, run: RunContext[AloneProtocol], labels: Mapping[str, str]) -> None:
        self._run = run
        self._world = run.world
        self._protocol = run.protocol
        self._past = run.past
        self._entered = _in_order(run.entered_contenders, run.protocol, run.seed)
        self._labels = labels
        self._starter = Starter(run.world, run.protocol, run.store, run.listen)
        self._trials = TrialRunner(run)
        self._trials_done = len(run.past.measured)
        self._trials_planned = self._trials_done + sum(
            len(list(self._steps_left(entered))) for entered in self._entered
        )

    def run(self) -> None:
        """Measure every contender. An interrupt loses no trial that has ended."""
        for entered in self._entered:
            self._series(entered)

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
                    warm = self._starter.start(entered, starts, self._run.now_s())
                    lifecycle.thaw(self._world, warm.instance)
                record = self._trial(warm, step)
                rates_per_s.append(record.rate_per_s or 0.0)
                if self._protocol.recovery and not self._recovers(warm, step, rates_per_s[0]):
                    return
        except Unfit:  # it was reported, and the store has its fault
            return
        finally:
            if warm is not None:
                self._starter.stop(warm)

    def _steps_left(self, entered: EnteredContender) -> Iterator[Step]:
        return steps_left(self._protocol, self._labels, entered.contender.name, self._past)

    def _trial(self, warm: WarmInstance, step: Step) -> TrialRecord:
        self._report_progress(warm.name, step)
        spec = load_spec(self._protocol, warm.instance, step.connections)
        record = self._trials.measure(warm, spec, self._context(warm, step, "measure"))
        self._trials.ceilings.note(warm.name, record)
        self._trials_done += 1
        if record.state == "failed":
            failure = f"{warm.name} at {record.connections}: {record.reason}"
            self._run.listen(Event(failure, trouble=True))
        return record

    def _recovers(self, warm: WarmInstance, step: Step, rate_per_s: float) -> bool:
        """Whether it reaches its first trial's rate again; stores the recovery."""
        self._run.listen(Progress(f"{warm.name}: recovering from trial {step.repetition}"))
        record = recover(
            self._world,
            warm.instance,
            self._protocol,
            self._context(warm, step, "recovery"),
            rate_per_s,
        )
        self._run.store.add_trial(record)
        if record.state == "failed":
            failure = f"{warm.name} ends its series after trial {step.repetition}: {record.reason}"
            self._run.listen(Event(failure, trouble=True))
        return record.state == "ok"

    def _context(self, warm: WarmInstance, step: Step, kind: str) -> TrialContext:
        """The block is the repetition; processes are no invocations, because the page had none."""
        workload = self._protocol.workload_names[0]
        return self._trials.context(warm, workload, kind=kind, invocation=1, block=step.repetition)

    def _is_running(self, warm: WarmInstance) -> bool:
        return lifecycle.ended(self._world, warm.instance) is None

    def _report_progress(self, name: str, step: Step) -> None:
        left = self._trials_planned - self._trials_done
        left_s = left * self._run.now_s() / self._trials_done if self._trials_done else None
        what = f"{name}: repetition {step.repetition} at {step.connections}"
        self._run.listen(
            Progress(what, done=self._trials_done, of=self._trials_planned, left_s=left_s)
        )


def _in_order(
    entered_contenders: Sequence[EnteredContender], protocol: AloneProtocol, seed: int
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
    return [*(e for e in entered_contenders if e.contender.is_null_server), *contenders]
