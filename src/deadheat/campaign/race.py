"""The race: invocations of frozen racers, randomised complete blocks, one running at a time."""

import itertools
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from deadheat.campaign.pace import Moment, pace_of
from deadheat.campaign.past import Past
from deadheat.campaign.standings import Look, Standings
from deadheat.errors import DeadheatError
from deadheat.events import Event, Listener, Progress
from deadheat.load import LoadSpec
from deadheat.measure import lifecycle
from deadheat.measure.contender import NULL_SERVER
from deadheat.measure.starter import Entrant, Starter, Unfit, WarmInstance
from deadheat.measure.trial import TrialContext, load_spec, measure
from deadheat.measure.world import World
from deadheat.protocol import Protocol
from deadheat.store import Store, TrialRecord

LATENCY_SHARES = (0.5, 0.7, 0.9)
MEMORY_FREE_BYTES_MIN = 1 << 30  # left for the machine when all of a heat are started

T = TypeVar("T")


class Race:
    """Runs a protocol's blocks over its entrants and keeps each trial the moment it ends."""

    def __init__(
        self,
        world: World,
        protocol: Protocol,
        store: Store,
        run_id: str,
        entrants: Sequence[Entrant],
        seed: int,
        listen: Listener,
        past: Past | None = None,
    ) -> None:
        past = past or Past()
        self._world = world
        self._protocol = protocol
        self._store = store
        self._run_id = run_id
        self._entrants = list(entrants)
        self._random = random.Random(f"{seed} {past.invocations}" if past.invocations else seed)
        self._listen = listen
        self._starter = Starter(world, protocol, store, listen)
        self._pace = pace_of(protocol.stopping)
        self._begun_s = world.server_host.now_s() - past.elapsed_s
        self._invocation = past.invocations
        complete = past.complete(protocol.connections, self._pace.blocks_due)
        self._cut_short = past.invocations - complete  # they count for nothing in the pace
        self._trials = len(past.measured)
        self._gates_told: set[str] = set()
        by_role = {
            role: [e.contender.name for e in entrants if e.contender.role == role]
            for role in ("contender", "control")
        }
        self.standings = Standings(protocol, by_role["contender"], by_role["control"])
        self.standings.recall(past.measured, past.elapsed_s / protocol.stopping.budget_s)

    def run(self) -> Look:
        """Race to the end. What has been measured is in the store, whatever ends this."""
        moment = self._moment()
        while self.standings.contenders_left and self._pace.another_invocation(moment):
            moment = self._invoke()
        return self.standings.last_look()

    def measure_latency(self, duration_s: float) -> None:
        """One more start of all: each rival in open loop at shares of its own median rate.

        Latency from the intended send time says something only below saturation. A rival whose
        rate at the highest level is not known is passed over.
        """
        self._invocation += 1
        waiting = self._contenders_in_order()
        for heat in itertools.count(1):
            started: list[WarmInstance] = []
            try:
                self._start_heat(started, waiting)
                shares = itertools.product(self._rates_of(started), LATENCY_SHARES)
                for (one, rate_per_s), share in self._shuffled(shares):
                    if one in started:
                        self._latency_trial(one, share * rate_per_s, duration_s, heat, started)
            finally:
                self._stop_all(started)
            if not waiting:
                return

    def _invoke(self) -> Moment:
        """One invocation: fresh starts, warm, then blocks until the pace says otherwise.

        Rivals that memory does not hold run in further heats, with as many blocks as the first;
        the canaries run in all of them, and bridge the comparison.
        """
        self._invocation += 1
        waiting = self._contenders_in_order()
        moment = self._moment()
        for heat in itertools.count(1):
            moment = self._run_heat(heat, waiting, moment)
            if not waiting:
                return moment
            self._listen(Event(f"{len(waiting)} rivals wait for memory: heat {heat + 1}"))
        raise AssertionError("unreachable")

    def _moment(self) -> Moment:
        """Before the first block of an invocation."""
        number = self._invocation - self._cut_short
        return Moment(number, 0, self._now_s(), 0.0, 0.0, self.standings.settled)

    def _run_heat(self, heat: int, waiting: list[Entrant], before: Moment) -> Moment:
        """Start who fits out of `waiting`, and run the heat's blocks; what they took adds up."""
        begun_s = self._now_s()
        started: list[WarmInstance] = []
        try:
            self._start_heat(started, waiting)
            starting_s = before.starting_s + self._now_s() - begun_s
            moment = replace(
                before,
                blocks=0,
                elapsed_s=self._now_s(),
                starting_s=starting_s,
                more_heats=bool(waiting),
            )
            while _contenders_of(started) and self._another_block(heat, moment, before):
                moment = self._block(heat, started, moment, before)
            return moment
        finally:
            self._stop_all(started)

    def _another_block(self, heat: int, moment: Moment, first: Moment) -> bool:
        if heat == 1:
            return self._pace.another_block(moment)
        return moment.blocks < first.blocks

    def _start_heat(self, started: list[WarmInstance], waiting: list[Entrant]) -> None:
        """Start the canaries and as many of `waiting` as memory holds, at least one."""
        for entrant in [e for e in self._entrants if e.contender.role == "control"]:
            self._start(entrant, started)
        controls = len(started)
        while waiting and (len(started) == controls or self._has_room(len(started) - controls)):
            self._start(waiting.pop(0), started)

    def _has_room(self, contenders: int) -> bool:
        if self._protocol.at_once is not None:
            return contenders < self._protocol.at_once
        host = self._world.server_host
        free_bytes = host.unwatch(host.watch([], 1.0))[-1].memory_available_bytes
        return free_bytes > MEMORY_FREE_BYTES_MIN

    def _start(self, entrant: Entrant, started: list[WarmInstance]) -> None:
        try:
            one = self._starter.start(entrant, self._invocation, self._now_s())
        except Unfit:
            self._entrants.remove(entrant)
            self.standings.drop(entrant.contender.name)
            return
        started.append(one)
        if one.name == NULL_SERVER:
            level = max(self._protocol.connections)
            self.standings.set_ceiling(level, one.warmed.rate_per_s)

    def _stop_all(self, started: list[WarmInstance]) -> None:
        """Stop each, whatever happens at another; what happened first is raised in the end."""
        faults: list[DeadheatError] = []
        for one in started:
            try:
                self._starter.stop(one)
            except DeadheatError as error:
                faults.append(error)
        if faults:
            raise faults[0]

    def _contenders_in_order(self) -> list[Entrant]:
        return self._shuffled(e for e in self._entrants if e.contender.role == "contender")

    def _block(
        self, heat: int, started: list[WarmInstance], before: Moment, last_heat: Moment
    ) -> Moment:
        """One pass over every racer at every level, in random order."""
        begun_s = self._now_s()
        number = (heat - 1) * last_heat.blocks + before.blocks + 1
        passes = itertools.product(tuple(started), self._protocol.connections)
        for one, connections in self._shuffled(passes):
            if one in started:
                spec = load_spec(self._protocol, one.instance, connections, one.warmed.rate_per_s)
                record = self._trial(one, spec, "measure", number, heat, started)
                self.standings.add(one.name, record)
        if not before.more_heats:
            self.standings.look(self._now_s() / self._protocol.stopping.budget_s)
        return replace(
            before,
            blocks=before.blocks + 1,
            elapsed_s=self._now_s(),
            block_s=max(before.block_s, last_heat.block_s + self._now_s() - begun_s),
            settled=self.standings.settled,
        )

    def _rates_of(self, started: Sequence[WarmInstance]) -> list[tuple[WarmInstance, float]]:
        """The median rate of each rival at the highest level; who has none is told."""
        connections = max(self._protocol.connections)
        rates_per_s = []
        for one in _contenders_of(started):
            rate_per_s = self.standings.rate_per_s(one.name, connections)
            if rate_per_s is not None:
                rates_per_s.append((one, rate_per_s))
            else:
                told = f"{one.name}: no valid rate, and so no latency at shares of it"
                self._listen(Event(told, trouble=True))
        return rates_per_s

    def _latency_trial(
        self,
        one: WarmInstance,
        rate_per_s: float,
        duration_s: float,
        heat: int,
        started: list[WarmInstance],
    ) -> None:
        connections = max(self._protocol.connections)
        spec = replace(
            load_spec(self._protocol, one.instance, connections),
            rate_per_s=rate_per_s,
            duration_s=duration_s,
            seed=self._random.randrange(2**31),
        )
        self._trial(one, spec, "latency", 1, heat, started)

    def _trial(
        self,
        one: WarmInstance,
        spec: LoadSpec,
        kind: str,
        block: int,
        heat: int,
        started: list[WarmInstance],
    ) -> TrialRecord:
        """Thaw, load, keep, freeze. A racer that died leaves `started`."""
        self._tell(f"invocation {self._invocation}, block {block}: {one.name}", spec.connections)
        context = TrialContext(
            run_id=self._run_id,
            contender_id=one.entrant.contender_id,
            instance_id=one.instance_id,
            kind=kind,
            invocation=self._invocation,
            block=block,
            heat=heat,
            at_s=self._now_s(),
            steady=one.warmed.kind,
        )
        lifecycle.thaw(self._world, one.instance)
        ceiling_per_s = self.standings.ceiling_per_s(spec.connections)
        clock_khz_max = self.standings.clock_khz_max(one.name, spec.connections)
        record = measure(self._world, one.instance, spec, context, ceiling_per_s, clock_khz_max)
        self._store.add_trial(record)
        self._trials += 1
        self._tell_trouble(one.name, record)
        if lifecycle.ended(self._world, one.instance) is None:
            lifecycle.freeze(self._world, one.instance)
        else:
            started.remove(one)
            self._starter.stop(one)
        return record

    def _tell_trouble(self, name: str, record: TrialRecord) -> None:
        """A failed trial each time, a failed gate the first time: the report has the rest."""
        if record.state == "failed":
            told = f"{name} at {record.connections}: {record.reason}"
            self._listen(Event(told, trouble=True))
        for gate in record.gates:
            if not gate.passed and gate.code not in self._gates_told:
                self._gates_told.add(gate.code)
                told = f"doubt ({gate.code}) at {name}: {gate.advice}"
                self._listen(Event(told, trouble=True))

    def _shuffled(self, things: Iterable[T]) -> list[T]:
        order = list(things)
        if self._protocol.order == "random":
            self._random.shuffle(order)
        return order

    def _tell(self, what: str, connections: int) -> None:
        """A race to settle has a budget and no known end; a fixed one has a known end."""
        stopping, doing = self._protocol.stopping, f"{what} at {connections}"
        if stopping.kind == "settle":
            budget_left_s = stopping.budget_s - self._now_s()
            self._listen(Progress(doing, done=self._trials, left_s=budget_left_s))
            return
        of = len(self._entrants) * len(self._protocol.connections) * stopping.repetitions
        left = max(0, of - self._trials)
        left_s = left * self._now_s() / self._trials if self._trials else None
        self._listen(Progress(doing, done=self._trials, of=of, left_s=left_s))

    def _now_s(self) -> float:
        return self._world.server_host.now_s() - self._begun_s


def _contenders_of(started: Sequence[WarmInstance]) -> list[WarmInstance]:
    """Without one of them a block would measure our own servers alone."""
    return [one for one in started if one.entrant.contender.role == "contender"]
