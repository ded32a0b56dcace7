"""The race of trials: frozen instances, randomized complete blocks, one instance running."""

import math
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from deadheat.campaign.context import RunContext
from deadheat.campaign.half_load import HalfLoads
from deadheat.campaign.heat import Heat
from deadheat.campaign.invalid_streak import InvalidStreak, Noisy
from deadheat.campaign.noise import wait_until_quiet
from deadheat.campaign.one_trial import TrialRunner
from deadheat.campaign.pace import Moment, pace_of
from deadheat.campaign.standings import Look, Standings
from deadheat.events import Event, Progress
from deadheat.measure.contender import NULL_SERVER
from deadheat.measure.starter import Starter
from deadheat.measure.trial import load_spec
from deadheat.measure.warm_instance import EnteredContender, WarmInstance
from deadheat.store import TrialRecord
from deadheat.workload import Level

T = TypeVar("T")


class Race:
    """Runs a protocol's blocks over its contenders, and stores each trial when it ends."""

    def __init__(self, run: RunContext) -> None:
        past, protocol = run.past, run.protocol
        self._run = run
        self._protocol = protocol
        self._entered = list(run.entered_contenders)
        self._random = random.Random(
            f"{run.seed} {past.invocations}" if past.invocations else run.seed
        )
        self._starter = Starter(run.world, protocol, run.store, run.listen, self._left_s)
        self._pace = pace_of(protocol.stopping)
        self._invocation = past.invocations
        complete = past.complete(run.levels_of, self._pace.blocks_due)
        self._cut_short = past.invocations - len(complete)  # do not count in the pace
        self._planned_done = Counter(  # trials by contender, without those of such an invocation
            name for name, trial in past.measured if trial.invocation in complete
        )
        self.standings = Standings(
            protocol, run.named("contender"), run.named("control"), run.levels_of
        )
        self.standings.recall(past)
        self._trials = TrialRunner(run, self.standings, len(past.measured))
        self._half_loads = HalfLoads(run, self._trials)
        self._invalid = InvalidStreak(has_budget=run.protocol.stopping.kind == "settle")
        self._noisy: str | None = None  # the machine is, and how that showed
        self._unmeasured = run.unmeasured()

    @property
    def invocation(self) -> int:
        return self._invocation

    def run(self) -> Look:
        """Race to the end. What has been measured is in the store, however this ends."""
        moment = self._moment()
        while self.standings.contenders_left and (
            self._pace.another_invocation(moment) or self._owes_invocation()
        ):
            moment = self._invoke()
        return self.standings.last_look()

    def _owes_invocation(self) -> bool:
        """Whether the budget has to wait: a run was resumed before all had a trial."""
        return self._invocation == self._run.past.invocations and self._lacks_trials()

    def _lacks_trials(self) -> bool:
        left = {entered.contender.name for entered in self._entered}
        settles = self._protocol.stopping.kind == "settle"
        return settles and not left.isdisjoint(self._unmeasured)

    def _invoke(self) -> Moment:
        """One invocation: fresh instances, warm, then blocks until the pace ends them.

        Contenders that memory does not hold run in further heats, with as many blocks as the
        first; the controls run in all of them, and link the comparison.
        """
        self._invocation += 1
        waiting = self._shuffled(e for e in self._entered if e.contender.role == "contender")
        moment = self._run_heat(1, waiting, self._moment())
        heat = 1
        while waiting:
            heat += 1
            self._run.listen(Event(f"{len(waiting)} contenders wait for memory: heat {heat}"))
            moment = self._run_heat(heat, waiting, moment)
        return moment

    def _moment(self) -> Moment:
        """Before the first block of an invocation."""
        number = self._invocation - self._cut_short
        return Moment(number, 0, self._run.now_s(), 0.0, 0.0, self.standings.settled)

    def _run_heat(self, number: int, waiting: list[EnteredContender], before: Moment) -> Moment:
        """Start those of `waiting` that fit, and run the heat's blocks."""
        begun_s = self._run.now_s()
        at_once = self._protocol.at_once
        with Heat(self._run.world, self._starter, self._drop, at_once) as heat:
            for entered in [e for e in self._entered if e.contender.role == "control"]:
                self._start(heat, entered)
            heat.start_as_many_as_fit(waiting, lambda entered: self._start(heat, entered))
            moment = replace(
                before,
                blocks=0,
                elapsed_s=self._run.now_s(),
                starting_s=before.starting_s + self._run.now_s() - begun_s,
                more_heats=bool(waiting),
            )
            while heat.contenders and self._another_block(number, moment, before):
                moment = self._block(number, heat, moment, before)
            return moment

    def _another_block(self, heat: int, moment: Moment, first: Moment) -> bool:
        if heat == 1:
            return self._pace.another_block(moment)
        return moment.blocks < first.blocks

    def _start(self, heat: Heat, entered: EnteredContender) -> None:
        instance = heat.start(entered, self._invocation, self._run.now_s())
        if instance is None:
            return
        self._entered[self._entered.index(entered)] = instance.entered
        self.standings.leave_out(instance.name, instance.entered.contender.left_out)
        if instance.name == NULL_SERVER:
            for workload in self._protocol.workload_names:
                level = Level(workload, max(self._protocol.connections))
                self.standings.set_ceiling(level, instance.warmed.rate_per_s)

    def _drop(self, entered: EnteredContender, why: str) -> None:
        self._entered.remove(entered)
        self.standings.drop(entered.contender.name, why)

    def _block(self, number: int, heat: Heat, before: Moment, last_heat: Moment) -> Moment:
        """One pass over every instance at every level, in random order."""
        begun_s = self._run.now_s()
        block = (number - 1) * last_heat.blocks + before.blocks + 1
        for instance, level in self._shuffled(
            (present, level)
            for present in heat.instances
            for level in present.entered.contender.levels_of(self._protocol)
        ):
            if instance in heat:
                self._measure(heat, instance, level, block, number)
        if self._noisy is not None and self._left_s() > 0:
            wait_until_quiet(self._run, self._noisy, self._left_s())
        self._noisy = None
        if not before.more_heats:
            self.standings.look(self._run.now_s() / self._protocol.stopping.budget_s)
        return replace(
            before,
            blocks=before.blocks + 1,
            elapsed_s=self._run.now_s(),
            block_s=max(before.block_s, last_heat.block_s + self._run.now_s() - begun_s),
            settled=self.standings.settled,
        )

    def _measure(
        self, heat: Heat, instance: WarmInstance, level: Level, block: int, number: int
    ) -> None:
        place = f"invocation {self._invocation}, block {block}: {instance.name} at {level.short}"
        self._run.listen(self._progress(place))
        rate_per_s = instance.warmed_on(level.workload).rate_per_s
        spec = load_spec(
            self._protocol, instance.instance, level.connections, rate_per_s, level.workload
        )
        record = self._trials.run(
            heat, instance, spec, level.workload, block=block, heat_number=number
        )
        self.standings.add(instance.name, record)
        self._half_loads.check(heat, instance, record)
        self._note_invalid(heat, instance, record)
        self._planned_done[instance.name] += 1

    def _note_invalid(self, heat: Heat, instance: WarmInstance, record: TrialRecord) -> None:
        """After too many invalid trials in a row, a contender is out, or the race waits or ends."""
        if instance.entered.contender.role == "control" or self._protocol.origin is not None:
            return
        outcome = self._invalid.note(
            instance.name, record, self.standings.others_valid(instance.name)
        )
        if isinstance(outcome, Noisy):
            self._noisy = outcome.text
        elif outcome is not None:
            self._run.listen(Event(f"{instance.name} is out: {outcome.reason}", trouble=True))
            self._drop(instance.entered, f"{instance.name} is out: {outcome.reason}")
            if instance in heat:
                heat.stop(instance)

    def _shuffled(self, items: Iterable[T]) -> list[T]:
        order = list(items)
        if self._protocol.order == "random":
            self._random.shuffle(order)
        return order

    def _progress(self, what: str) -> Progress:
        """A race to settle has a budget and no known end; a fixed one has a known end."""
        stopping, done = self._protocol.stopping, self._trials.done
        if stopping.kind == "settle":
            budget_left_s = self._left_s()
            known_s = budget_left_s if math.isfinite(budget_left_s) else None
            return Progress(what, done=done, left_s=known_s)
        left = sum(
            len(each.contender.levels_of(self._protocol)) * stopping.repetitions
            - self._planned_done[each.contender.name]
            for each in self._entered
        )
        left_s = left * self._run.now_s() / done if done else None
        return Progress(what, done=done, of=done + left, left_s=left_s)

    def _left_s(self) -> float:
        """What is left of the budget.

        A fixed number of repetitions has none, and the invocation that a resumed run owes ignores
        it.
        """
        stopping, past = self._protocol.stopping, self._run.past
        is_first = self._invocation == past.invocations + 1
        if stopping.kind == "fixed" or (past.elapsed_s and is_first and self._lacks_trials()):
            return math.inf
        return self._run.ends_s - self._run.now_s()
