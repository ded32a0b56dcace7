"""Which contender gets a fresh instance, and when: starts differ, and each costs time.

A fresh start narrows an interval in two ways: it averages over one more start, and it adds degrees
of freedom. More slices only average over more slices (`stats/measurement_value.py`).
"""

import statistics
from collections.abc import Mapping, Sequence

from deadheat.campaign.heat import became_steady
from deadheat.campaign.resolve import FEWEST_INSTANCES, block_s, slice_s
from deadheat.campaign.run import RaceContext
from deadheat.campaign.standings import Standings
from deadheat.measure.warm_up import WarmInstance
from deadheat.protocol import Fixed, Settle
from deadheat.stats.model.measurement_value import Action, Contribution, Cost, contributions

ESTIMATE_BLOCKS = 2  # between two estimates of what a fresh start is worth
LATER_SHARE = 0.6  # of the first start's time, that a later one takes
UNSTEADY_MAX = 3  # starts in a row: after so many, it is the server, not a noisy moment


class FreshStarts:
    """Decides before each block; `note_block` reports the instances of a block."""

    def __init__(self, run: RaceContext, standings: Standings) -> None:
        protocol = run.protocol
        self._run = run
        self._protocol = protocol
        self._stopping = protocol.stopping
        self._standings = standings
        self._seen: set[int] = set()  # the ids of the instances that have run a block
        self._unsteady: dict[str, int] = {}  # a contender's latest starts that were not steady
        self._since_start_s: dict[str, float] = {}  # a contender's time in blocks since then
        self._costs_s: dict[str, float] = {}  # what a start takes, of contenders that became steady
        self.given_up: set[str] = set()  # contenders that are not to start any more
        self._blocks = 0
        self._estimated_at_block = 0
        self._values: Mapping[str, Contribution] = {}

    def note_block(self, instances: Sequence[WarmInstance], each_s: float) -> None:
        """Count a block of these instances, which took `each_s` for each contender."""
        self._blocks += 1
        for instance in instances:
            name, is_new = instance.name, instance.instance_id not in self._seen
            before_s = 0.0 if is_new else self._since_start_s.get(name, 0.0)
            self._since_start_s[name] = before_s + each_s
            self._seen.add(instance.instance_id)
            if is_new:
                in_a_row = 0 if became_steady(instance) else self._unsteady.get(name, 0) + 1
                self._unsteady[name] = in_a_row
            if became_steady(instance) and instance.entered.contender.role == "contender":
                self._costs_s[instance.name] = _cost_s(instance)

    def instances_affordable(self) -> dict[str, int]:
        """How many instances of each contender fit in the budget, each with a block.

        Two at least, because one has no interval, and as many as the protocol asks for at most.
        Those with cheap starts come first: a third instance of Spring Boot takes as long as a
        fourth one of ten Go servers. A fixed number of repetitions has no budget, so all fit.
        """
        if isinstance(self._stopping, Fixed):
            return dict.fromkeys(self._standings.names, self._stopping.invocations)
        names = [name for name in self._standings.names if name not in self.given_up]
        usual_s = statistics.fmean(self._costs_s.values()) if self._costs_s else 0.0
        each_s = {
            name: self._costs_s.get(name, usual_s) + block_s(self._protocol, 1) for name in names
        }
        wanted = dict.fromkeys(names, FEWEST_INSTANCES)
        left_s = self._run.ends_s - FEWEST_INSTANCES * sum(each_s.values())
        for count in range(FEWEST_INSTANCES + 1, self._stopping.invocations + 1):
            for name in sorted(names, key=each_s.__getitem__):
                if each_s[name] <= left_s:
                    wanted[name] = count
                    left_s -= each_s[name]
        return wanted | {name: self._standings.instances(name) for name in self.given_up}

    def due(self, instances: Sequence[WarmInstance], group: Sequence[str]) -> list[str]:
        """The contenders of `group` that get a fresh instance now, those most worth it first.

        A contender with few instances has a wide interval or none. It gets a fresh one after each
        block, even if its start is slow, until it has as many as the budget allows for all. Then,
        a fresh one starts where it narrows intervals most per second. Such starts take at most
        a share of a contender's time, so one with cheap starts has many instances. A contender
        whose instance did not become steady has trials that do not rank. A noisy moment may have
        been the cause, so it starts again at once. After `UNSTEADY_MAX` such starts in a row,
        another one would be no better: it comes last.
        """
        if isinstance(self._stopping, Settle):
            self._estimate(instances)
        left_s = self._run.ends_s - self._run.now_s()
        chosen: list[str] = []
        newest = {instance.name: instance for instance in instances if instance.name in group}
        for instance in sorted(newest.values(), key=self._urgency):
            if instance.instance_id not in self._seen or instance.name in self.given_up:
                continue
            cost_s = _cost_s(instance)
            since_start_s = self._since_start_s[instance.name]
            if not self._worth(instance) or since_start_s < self._least_s(instance):
                continue
            if left_s < cost_s + block_s(self._protocol, len(group)):
                continue
            chosen.append(instance.name)
            left_s -= cost_s
        return chosen

    def _least_s(self, instance: WarmInstance) -> float:
        """A contender's time in blocks after which it may start another, for what a start takes."""
        if self._starts_again(instance) or (self._has_few(instance) and became_steady(instance)):
            return 0.0
        return _cost_s(instance) * (1 / self._protocol.slices.starts_share - 1)

    def _starts_again(self, instance: WarmInstance) -> bool:
        """Whether its newest start was not steady, and the next one may be."""
        unsteady = self._unsteady.get(instance.name, 0)
        return not became_steady(instance) and unsteady < UNSTEADY_MAX

    def _has_few(self, instance: WarmInstance) -> bool:
        name = instance.name
        return self._standings.instances(name) < self._standings.instances_wanted[name]

    def _urgency(self, instance: WarmInstance) -> tuple[int, int, float]:
        """Those with few instances first, the cheapest before the others; then what starts gain."""
        if self._starts_again(instance):
            return (0, 0, _cost_s(instance))
        if not became_steady(instance):
            return (2, 0, _cost_s(instance))
        if self._has_few(instance):
            return (0, self._standings.instances(instance.name), _cost_s(instance))
        value = self._values.get(instance.name)
        return (1, 0, -value.gain_per_s if value is not None else 0.0)

    def _worth(self, instance: WarmInstance) -> bool:
        value = self._values.get(instance.name)
        if self._starts_again(instance) or self._has_few(instance):
            return True
        return value is not None and value.action is Action.INSTANCE

    def _estimate(self, instances: Sequence[WarmInstance]) -> None:
        """What a second is worth to each contender, and how to spend it."""
        if self._values and self._blocks < self._estimated_at_block + ESTIMATE_BLOCKS:
            return
        fitted = self._standings.fit(self._protocol.main_level)
        if fitted is None:
            return
        self._estimated_at_block = self._blocks
        model, names = fitted
        pairs = max(1, len(names) * (len(names) - 1) // 2)
        alpha = (1 - self._stopping.confidence) / pairs
        each_s = slice_s(self._protocol)
        costs = {
            names.index(instance.name): Cost(max(_cost_s(instance), each_s), each_s)
            for instance in instances
            if instance.name in names
        }
        values = contributions(model, costs, alpha)
        self._values = {names[place]: value for place, value in values.items()}


def _cost_s(instance: WarmInstance) -> float:
    """What the next start of a contender takes: the first one warms up for longer."""
    return instance.took_s * (LATER_SHARE if instance.invocation == 1 else 1.0)
