"""The race: short loads close together, in rounds, on instances that stay up frozen."""

import itertools
import math
import random
from collections.abc import Sequence

from deadheat import numbers
from deadheat.campaign.block import Block
from deadheat.campaign.failures import InvalidStreak, Noisy, Troubles, wait_until_quiet
from deadheat.campaign.fresh_starts import FreshStarts
from deadheat.campaign.heat import Heat, Rotation
from deadheat.campaign.resolve import FEWEST_INSTANCES, SliceLengths
from deadheat.campaign.run import RaceContext
from deadheat.campaign.standings import Look, Standings
from deadheat.campaign.trials import HalfLoads, TrialRunner
from deadheat.events import Event, Progress
from deadheat.measure.starter import Starter
from deadheat.measure.warm_up import EnteredContender, WarmInstance
from deadheat.protocol import Settle
from deadheat.stats.ranking.decision import effort_to_detect
from deadheat.store import TrialRecord
from deadheat.workload import Level

FIRST_ORDER_S = 30.0  # when the order so far is first reported
OUTLOOK_CHANGE = 2.0  # times as long, or as short: then it is said again
OUTLOOK_BLOCKS = 1.1  # times as many, before it is estimated again
FAULTS_MAX = 3  # blocks in a row that failed: then a contender is out


class Race:
    """Runs blocks of rounds over the contenders whose place is open, until the order is settled.

    Contenders are measured in groups whose rounds stay below keep-alive timeouts. Fresh instances
    start while the race goes on, where a start is worth its time, and take turns with those that
    are up already. With `only_counts`, invalid trials end nothing: noise hardly moves counts.
    """

    def __init__(self, run: RaceContext, only_counts: bool = False) -> None:
        self._run = run
        self._protocol = run.protocol
        self._rule = run.protocol.slices
        self._entered = list(run.entered_contenders)
        self._random = random.Random(f"{run.seed} {len(run.past.trials)}")
        self._starter = Starter(
            *(run.world, run.protocol, run.store, run.listen, self._left_s),
            keeps_loads=True,
            racing=lambda: len(self.standings.racing_names),
            has_place=self._has_place,
        )
        self._starts = dict(run.past.starts)
        self._blocks = max((trial.block for _, trial in run.past.trials), default=0)
        self._block_s_each = 0.0  # what the last block took for each contender
        self._troubles = Troubles(run.listen)
        self._faults: dict[str, int] = {}
        self._reported_at_s = 0.0
        self._reported_stood_s = 0.0
        self._outlook_s = 0.0  # how long it takes to detect the margin, as last said
        self._outlook_block = 0  # of the last estimate
        self.standings = Standings(run)
        self._fresh = FreshStarts(run, self.standings)
        self._rotation = Rotation(self._random)
        self._lengths = SliceLengths(run.protocol)
        self.trials = TrialRunner(run)
        self._half_loads = HalfLoads(run, self.trials)
        self._invalid = InvalidStreak(has_budget=isinstance(run.protocol.stopping, Settle))
        self._only_counts = only_counts
        self._noisy: str | None = None  # the machine is, and how that showed
        self._passes = 0  # over the contenders that race

    @property
    def invocation(self) -> int:
        """The highest number of an instance so far."""
        return max(self._starts.values(), default=0)

    def run(self) -> Look:
        """Race to the end. What has been measured is in the store, however this ends."""
        heat_of_all = Heat(self._run.world, self._starter, self._note_unfit, self._protocol.at_once)
        with heat_of_all as heat:
            while self.standings.names and not self._done():
                for group in self._groups(heat):
                    is_late = self._run.now_s() + self._block_s_each * len(group) > self._run.ends_s
                    if is_late and self._left_s(group) < math.inf:
                        if self._left_s() == math.inf:
                            continue
                        return self.standings.last_look()
                    self._prepare(heat, group)
                    if heat.contenders and self._left_s() > 0:
                        self._block(heat, group)
                    if self._done():
                        break
        self._report_unstarted()
        return self.standings.last_look()

    def _report_unstarted(self) -> None:
        """The contenders for whose first start the budget was too short."""
        names = [name for name in self.standings.names if not self.standings.instances(name)]
        if names and self._left_s() <= 0:
            budget = numbers.duration(self._run.ends_s)
            text = f"the budget of {budget} was spent before these were measured: "
            self._run.listen(Event(text + ", ".join(names), trouble=True))

    def _left_s(self, group: Sequence[str] | None = None) -> float:
        """What is left of the budget; infinite if a block of the group is owed, or of any group."""
        racing = self.standings.racing_names if group is None else group
        present = [each for each in self._entered if self._takes_part(each, racing)]
        return self._run.left_s(each.contender.name for each in present)

    def _done(self) -> bool:
        if not self.standings.racing_names:  # decided, or dropped out
            return True
        return (
            self.standings.last.settled
            and not self.standings.is_coarse
            and all(
                self.standings.instances(name) >= self._protocol.stopping.invocations
                for name in self.standings.racing_names
            )
        ) or self._left_s() <= 0

    def _groups(self, heat: Heat) -> list[list[str]]:
        """The open contenders in groups of neighbors, cut at another place each time.

        Every second time, the decided ones with a wide interval race, too. The group that raced
        least comes first: the time that is left may be too short for all.
        """
        racing = self.standings.racing_names
        self._passes += 1
        if self._passes % 2 == 0:
            racing += [
                name
                for name in self.standings.imprecise_names
                if name not in racing and heat.of(name)
            ]
        names = self._by_rate(racing)
        size = self._rule.group * len(self._protocol.transports)  # levels hang up at their end
        if len(names) <= size:
            return [names]
        offset = self._random.randrange(size)
        cuts = [0, *range(offset or size, len(names), size), len(names)]
        groups = [names[a:b] for a, b in itertools.pairwise(cuts) if b > a]
        return sorted(groups, key=lambda group: min(map(self.standings.blocks, group)))

    def _by_rate(self, names: Sequence[str]) -> list[str]:
        """From the fastest to the slowest, by the first workload that has a rate of it."""
        rates = {name: self._rate_per_s(name) or 0.0 for name in names}
        return sorted(names, key=lambda name: -rates[name])

    def _rate_per_s(self, name: str) -> float | None:
        most = max(self._protocol.connections)
        levels = [level for level in self._protocol.levels if level.connections == most]
        rates = (self.standings.rate_per_s(name, level) for level in levels)
        return next((rate for rate in rates if rate is not None), None)

    def _prepare(self, heat: Heat, group: Sequence[str]) -> None:
        """Have an instance of each up, and start a fresh one where that is worth its time.

        Contenders start in random order, after the controls: one that always started last would
        always be frozen for the shortest time before its block.
        """
        due = self._fresh.due(heat.contenders, group)
        wanted = [
            entered
            for entered in self._entered
            if self._takes_part(entered, group)
            and (entered.contender.name in due or not heat.of(entered.contender.name))
        ]
        self._random.shuffle(wanted)
        for entered in sorted(wanted, key=lambda e: e.contender.role == "contender"):
            for instance in self._rotation.leaving(heat.of(entered.contender.name)):
                heat.stop(instance)
            self._make_room(heat, group)
            self._start(heat, entered)

    def _takes_part(self, entered: EnteredContender, group: Sequence[str]) -> bool:
        return entered.contender.role == "control" or entered.contender.name in group

    def _make_room(self, heat: Heat, group: Sequence[str]) -> None:
        """While memory is short, stop instances that rest, then those of other groups."""
        leaving = self._rotation.spare(heat.contenders)
        leaving += [i for i in heat.contenders if i.name not in group and i not in leaving]
        while leaving and not heat.has_room():
            heat.stop(leaving.pop(0))

    def _start(self, heat: Heat, entered: EnteredContender) -> None:
        name = entered.contender.name
        self._starts[name] = self._starts.get(name, 0) + 1
        instance = heat.start(entered, self._starts[name], self._run.now_s())
        if instance is None:
            self._end_if_unfit(heat, entered)
            return
        self._entered[self._entered.index(entered)] = instance.entered
        self.standings.leave_out(name, instance.entered.contender.left_out)
        if entered.contender.is_null_server:
            for workload in filter(entered.contender.answers, self._protocol.workload_names):
                level = Level(workload, max(self._protocol.connections))
                self.trials.ceilings.set(level, instance.warmed.rate_per_s)

    def _has_place(self, name: str) -> bool:
        """Whether enough of its starts were measured for a rank, if no other one succeeds."""
        return self.standings.instances(name) >= FEWEST_INSTANCES

    def _note_unfit(self, entered: EnteredContender, why: str) -> None:
        """A start failed for good. A contender with a place does not start again."""
        name = entered.contender.name
        if not self._has_place(name):
            self._drop(entered, why)
            return
        self._fresh.given_up.add(name)
        starts = numbers.count(self.standings.instances(name), "start")
        self._run.listen(Event(f"{name} does not start again: it has {starts}", trouble=True))

    def _end_if_unfit(self, heat: Heat, entered: EnteredContender) -> None:
        """Stop the instances of a contender that is out. One that has none is out now."""
        name = entered.contender.name
        if entered.contender_id not in {each.contender_id for each in self._entered}:
            self._stop_all(heat, name)
        elif name in self._fresh.given_up and not heat.of(name):
            self._drop(entered, f"{name} did not start again")

    def _drop(self, entered: EnteredContender, why: str) -> None:
        self._entered = [e for e in self._entered if e.contender_id != entered.contender_id]
        self.standings.drop(entered.contender.name, why)

    def _block(self, heat: Heat, group: Sequence[str]) -> None:
        begun_s = self._run.now_s()
        self._blocks += 1
        self._run.listen(self._progress(group))
        order = self._by_rate(list(dict.fromkeys(i.name for i in heat.instances)))
        picked = [self._rotation.pick(heat.of(name)) for name in order]
        present = [i for i in picked if self._takes_part(i.entered, group)]
        block = Block(
            self._run,
            self._blocks,
            present,
            self._rotation.used,
            self._random,
            self._troubles,
            self._lengths,
        )
        records = block.run()
        self._report_stop()
        self._rotation.note_block(present, heat.instances)
        for instance, record in records:
            self.standings.add(instance.name, record)
            self.trials.ceilings.note(instance.name, record)
            self._lengths.note(instance.name, record)
            self._note_invalid(heat, instance, record)
            self._note_fault(heat, instance, record)
            self._half_loads.check(heat, instance, record)
        self._block_s_each = (self._run.now_s() - begun_s) / len(group)
        self._fresh.note_block(present, self._block_s_each)
        self.standings.instances_wanted = self._fresh.instances_affordable()
        self.standings.look(self._run.now_s())
        for name, level in self.standings.take_disagreeing():
            self._lengths.lengthen(name, level)
        self._report_order()
        self._report_outlook()
        trials = [record for _, record in records]
        self._run.listen(self.standings.board(self._blocks, trials))
        self._wait_if_noisy()

    def _wait_if_noisy(self) -> None:
        if self._noisy is not None and self._left_s() > 0:
            wait_until_quiet(self._run, self._noisy, self._left_s())
        self._noisy = None

    def _note_invalid(self, heat: Heat, instance: WarmInstance, record: TrialRecord) -> None:
        """After too many invalid trials in a row, a contender is out, or the race waits or ends."""
        if instance.entered.contender.role == "control" or self._only_counts:
            return
        outcome = self._invalid.note(
            instance.name, record, self.standings.others_valid(instance.name)
        )
        if isinstance(outcome, Noisy):
            self._noisy = outcome.text
        elif outcome is not None:
            self._run.listen(Event(f"{instance.name} is out: {outcome.reason}", trouble=True))
            self._drop(instance.entered, f"{instance.name} is out: {outcome.reason}")
            self._stop_all(heat, instance.name)

    def _note_fault(self, heat: Heat, instance: WarmInstance, record: TrialRecord) -> None:
        """A failed trial costs its instance; a contender that keeps failing is out."""
        name, failed, reason = instance.name, record.state != "ok", record.reason
        self._faults[name] = self._faults.get(name, 0) + 1 if failed else 0
        if not failed or instance not in heat:
            return  # it may be out already
        heat.stop(instance)
        if self._faults[name] >= FAULTS_MAX:
            why = f"{name} is out: {FAULTS_MAX} trials in a row failed"
            self._run.listen(Event(why, trouble=True))
            self._drop(instance.entered, f"{why}: {reason}" if reason else why)
            self._stop_all(heat, name)

    def _stop_all(self, heat: Heat, name: str) -> None:
        for instance in heat.of(name):
            heat.stop(instance)

    def _report_stop(self) -> None:
        """That this process was stopped, if it was since the last report."""
        if (stood_s := self._run.stood_s) > self._reported_stood_s:
            stopped = numbers.duration(round(stood_s - self._reported_stood_s))
            text = f"this command was stopped for {stopped}; its budget does not count that time"
            self._run.listen(Event(text, trouble=True))
            self._reported_stood_s = stood_s

    def _report_order(self) -> None:
        """The order so far, after half a minute and at each look."""
        look = self.standings.last.number
        if self._run.now_s() < FIRST_ORDER_S or self._reported_at_s >= FIRST_ORDER_S + (look or 0):
            return
        self._reported_at_s = FIRST_ORDER_S + (look or 0) + 1
        level = self._protocol.main_level
        rates = [
            f"{name} {rate:,.0f}"
            for name in self._by_rate(self.standings.names)
            if (rate := self.standings.rate_per_s(name, level)) is not None
        ]
        several = len(self._protocol.workload_names) > 1
        on = f" on {level.workload}" if several else ""
        if rates:
            text = f"after {self._run.now_s():.0f} s, requests/s{on}: {', '.join(rates)}"
            self._run.listen(Event(text))

    def _report_outlook(self) -> None:
        """What a race that asks for a slowdown will detect, and how long the margin would take.

        It is said once all are warm, and again if the time has changed much since. Few more blocks
        change little.
        """
        stopping, now_s, ends_s = self._protocol.stopping, self._run.now_s(), self._run.ends_s
        if not isinstance(stopping, Settle) or stopping.question != "slower" or now_s >= ends_s:
            return
        if self._blocks < OUTLOOK_BLOCKS * self._outlook_block:
            return
        outlooks = self.standings.outlooks()
        if not outlooks:
            return
        self._outlook_block = self._blocks
        more = ends_s / now_s - 1
        detectable = max(each.detectable(more * each.blocks) for each in outlooks)
        efforts = [(each, effort_to_detect(each, stopping.margin)) for each in outlooks]
        takes_s = now_s * max(1 + effort.extra_blocks / each.blocks for each, effort in efforts)
        if self._outlook_s / OUTLOOK_CHANGE < takes_s < self._outlook_s * OUTLOOK_CHANGE:
            return
        self._outlook_s = takes_s
        change = numbers.percent(math.expm1(min(detectable, math.log(2))))
        text = (
            f"a race of {numbers.duration(ends_s)} detects (with 80 % power) a change of {change} "
            f"or more here; {numbers.percent(stopping.margin)} takes about "
            f"{numbers.duration(takes_s)}"
        )
        if takes_s > ends_s:
            text += ": give it with --budget"
        self._run.listen(Event(text))

    def _progress(self, group: Sequence[str]) -> Progress:
        """A race to settle has a budget; one of repetitions a known number of blocks."""
        present = [name for name in group if name in self.standings.names]
        racing = len({*self.standings.racing_names, *present})
        what = f"block {self._blocks}, {numbers.count(racing, 'contender')} racing"
        stopping = self._protocol.stopping
        if isinstance(stopping, Settle):
            budget_left_s = max(0.0, self._run.ends_s - self._run.now_s())
            return Progress(what, done=self._blocks, left_s=budget_left_s)
        names = self.standings.names
        done = sum(map(self.standings.blocks, names))
        of = stopping.repetitions * len(names)
        left_s = self._run.now_s() * (of / done - 1) if done else None
        return Progress(what, done=done, of=of, left_s=left_s)
