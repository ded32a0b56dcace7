"""A race at common offered rates: what the same traffic costs each contender, in slices.

Every fresh start is warmed up at full load (closed loop), so that no JIT is measured cold; then
each block loads all contenders at each rate, one of them at a time. All of the budget is used.
"""

import itertools
import random
from dataclasses import replace

from deadheat import numbers
from deadheat.campaign.block import Block
from deadheat.campaign.failures import Troubles, none_left
from deadheat.campaign.heat import Heat
from deadheat.campaign.past import COMMON_RATE
from deadheat.campaign.resolve import SliceLengths
from deadheat.campaign.run import RaceContext
from deadheat.errors import Unmeasurable
from deadheat.events import Event, Progress
from deadheat.measure.starter import Starter
from deadheat.measure.warm_up import EnteredContender, WarmInstance
from deadheat.protocol import RateProtocol

BLOCKS_MIN = 2  # of a start: one alone does not show how blocks scatter


class CommonRate:
    """Runs the blocks of a run, each over all contenders, and stores their trials.

    Fresh instances replace all others as often as the protocol says, evenly over the budget.
    """

    def __init__(self, run: RaceContext, protocol: RateProtocol) -> None:
        self._run = run
        self._protocol = protocol
        self._waiting = list(run.entered_contenders)  # those that could start so far
        self._random = random.Random(f"{run.seed} {len(run.past.trials)}")
        self._troubles = Troubles(run.listen)
        self._out: dict[str, str] = {}
        past = [trial.invocation for _, trial in run.past.trials]
        self._invocation = max(*past, *run.past.starts.values(), 0, 0)  # the last start of all
        self._starts_done = len(set(past))
        self._blocks = max((trial.block for _, trial in run.past.trials), default=0)

    def run(self) -> None:
        """Raises `DeadheatError` if no contender can be measured.

        A resumed run was interrupted within its last start, so it has at least one more.
        """
        self._resolve()
        starts = max(self._protocol.stopping.invocations, self._starts_done + 1)
        for number in range(self._starts_done + 1, starts + 1):
            if self._left_s() <= 0:
                return
            self._run_start(self._run.ends_s * number / starts)
            if not self._waiting:
                raise none_left(self._out, "the reasons are printed above")

    def now_s(self) -> float:
        return self._run.now_s()

    def _left_s(self) -> float:
        return self._run.left_s(entered.contender.name for entered in self._waiting)

    def _resolve(self) -> None:
        """Measure what shares are of: the rate of the slowest contender, by its warm-up.

        A resumed run keeps the rates that it began with.
        """
        if self._protocol.is_resolved:
            return
        trials = [trial for _, trial in self._run.past.trials if trial.kind == COMMON_RATE]
        known = {trial.offered_rate_per_s for trial in trials if trial.offered_rate_per_s}
        if known:
            self._become(self._protocol.model_copy(update={"rates": tuple(sorted(known))}))
            return
        self._invocation += 1
        starter = self._starter(self._protocol.model_copy(update={"rates": ()}))
        slowest: tuple[float, str] | None = None
        for entered in list(self._waiting):
            with Heat(self._run.world, starter, self._drop) as heat:
                warm = self._start(heat, entered)
                if warm is not None and warm.warmed.rate_per_s > 0:
                    rate_and_name = (warm.warmed.rate_per_s, warm.name)
                    slowest = min(slowest or rate_and_name, rate_and_name)
        if slowest is None:
            if self._out:
                raise none_left(self._out, "the reasons are printed above")
            raise Unmeasurable(
                "no rate to take a share of: the budget was spent before a server was warm",
                "use a longer --budget, or name rates: --rate 1000",
            )
        self._become(self._protocol.resolved(slowest[0]))
        rates_text = numbers.listing([numbers.rate(float(rate)) for rate in self._protocol.rates])
        text = f"{slowest[1]} is slowest, with {numbers.rate(slowest[0])} requests/s"
        self._run.listen(Event(f"{text}: offering {rates_text} requests/s"))

    def _become(self, protocol: RateProtocol) -> None:
        """Run with these rates; the time goes on."""
        run = self._run
        past = replace(run.past, elapsed_s=run.now_s())
        self._protocol = protocol
        about = (run.store, run.run_id, run.entered_contenders, run.seed, run.listen, past)
        self._run = RaceContext(run.world, protocol, *about)

    def _starter(self, protocol: RateProtocol) -> Starter:
        run = self._run
        return Starter(run.world, protocol, run.store, run.listen, self._left_s, keeps_loads=True)

    def _run_start(self, until_s: float) -> None:
        """A fresh start of each contender, in random order, and its blocks."""
        self._invocation += 1
        waiting = list(self._waiting)
        self._random.shuffle(waiting)
        starter = self._starter(self._protocol)
        while waiting and self._left_s() > 0:
            with Heat(self._run.world, starter, self._drop, self._protocol.at_once) as heat:
                heat.start_as_many_as_fit(waiting, lambda entered: self._start(heat, entered))
                share_s = (until_s - self._run.now_s()) / (1 + len(waiting))
                block_ends_s = self._run.now_s() + share_s
                for number in itertools.count(1):
                    begun_s = self._run.now_s()
                    if not heat.instances or self._left_s() <= 0:
                        break
                    self._block(heat)
                    next_ends_s = self._run.now_s() + (self._run.now_s() - begun_s) / 2
                    if number >= BLOCKS_MIN and next_ends_s > block_ends_s:
                        break

    def _start(self, heat: Heat, entered: EnteredContender) -> WarmInstance | None:
        warm = heat.start(entered, self._invocation, self._run.now_s())
        if warm is not None:  # it may be left out of a workload
            self._waiting[self._waiting.index(entered)] = warm.entered
        return warm

    def _drop(self, entered: EnteredContender, why: str) -> None:
        self._waiting.remove(entered)
        self._out[entered.contender.name] = why

    def _block(self, heat: Heat) -> None:
        """One trial of each instance at each rate. One that failed leaves the heat."""
        self._blocks += 1
        what = f"block {self._blocks} of {numbers.count(len(heat.instances), 'server')}"
        self._run.listen(Progress(what, left_s=self._left_s()))
        by_rate = sorted(heat.instances, key=lambda each: -each.warmed.rate_per_s)
        lengths = SliceLengths(self._protocol)
        about = (by_rate, (), self._random, self._troubles, lengths)
        for instance, record in Block(self._run, self._blocks, *about).run():
            if record.state != "ok" and instance in heat:
                heat.stop(instance)
