"""When a campaign continues and when it ends: pure, so tests need no clock."""

from dataclasses import dataclass
from typing import Protocol as Interface

from deadheat.protocol import Stopping

FEWEST_BLOCKS = 2  # of a start: fewer say nothing of its slices


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a campaign stands after a block, or before the first of an invocation."""

    invocation: int  # the present one, from 1
    blocks: int  # done in it
    elapsed_s: float  # since the first start
    starting_s: float  # what starting and warming this invocation took
    block_s: float  # what its slowest block took; 0 before the first
    settled: bool  # every neighbouring pair is decided at every level
    more_heats: bool = False  # others wait for memory, and will run as many blocks


class Pace(Interface):
    """Decides after every block."""

    def blocks_due(self, invocation: int) -> int:
        """How many blocks make an invocation complete."""

    def another_block(self, moment: Moment) -> bool: ...

    def another_invocation(self, moment: Moment) -> bool: ...


@dataclass(frozen=True, slots=True)
class FixedPace:
    """So many repetitions, spread evenly over the invocations; the clock has no say."""

    stopping: Stopping

    def blocks_due(self, invocation: int) -> int:
        share, rest = divmod(self.stopping.repetitions, self.stopping.invocations)
        return share + (1 if invocation <= rest else 0)

    def another_block(self, moment: Moment) -> bool:
        return moment.blocks < self.blocks_due(moment.invocation)

    def another_invocation(self, moment: Moment) -> bool:
        return moment.invocation < min(self.stopping.invocations, self.stopping.repetitions)


@dataclass(frozen=True, slots=True)
class SettlePace:
    """Until all is decided, or the budget is spent.

    Fresh starts come before more blocks: start-to-start variance is what more blocks of one start
    cannot see. Blocks past the minimum are for the time that no further invocation fits into;
    where the budget is short, the starts asked for come first and have fewer blocks each.
    """

    stopping: Stopping

    def blocks_due(self, invocation: int) -> int:
        return min(FEWEST_BLOCKS, self.stopping.blocks_min)

    def another_block(self, moment: Moment) -> bool:
        left_s = self.stopping.budget_s - moment.elapsed_s
        if moment.blocks == 0:
            return True
        if left_s < moment.block_s:
            return False
        if moment.blocks < self._blocks_here(moment, left_s):
            return True
        if moment.more_heats or self._done(moment):
            return False
        return not self._fits(moment, left_s)

    def another_invocation(self, moment: Moment) -> bool:
        left_s = self.stopping.budget_s - moment.elapsed_s
        return not self._done(moment) and self._fits(moment, left_s)

    def _blocks_here(self, moment: Moment, left_s: float) -> int:
        """Fewer than the minimum where the starts still owed would not fit otherwise."""
        owed = self.stopping.invocations - moment.invocation
        needed_s = owed * (moment.starting_s + self.stopping.blocks_min * moment.block_s)
        if owed > 0 and left_s - moment.block_s < needed_s:
            return self.blocks_due(moment.invocation)
        return self.stopping.blocks_min

    def _done(self, moment: Moment) -> bool:
        return moment.settled and moment.invocation >= self.stopping.invocations

    def _fits(self, moment: Moment, left_s: float) -> bool:
        owed = moment.invocation < self.stopping.invocations
        blocks = self.blocks_due(moment.invocation) if owed else self.stopping.blocks_min
        return left_s >= moment.starting_s + blocks * moment.block_s


def pace_of(stopping: Stopping) -> Pace:
    """The pace that a protocol asks for."""
    return SettlePace(stopping) if stopping.kind == "settle" else FixedPace(stopping)
