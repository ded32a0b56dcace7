"""The race: invocations of frozen racers, randomised complete blocks, one running at a time."""

import itertools
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from deadheat.campaign.grid import Entrant, Grid, Started, Unfit
from deadheat.campaign.pace import Moment, pace_of
from deadheat.campaign.progress import Doing, Happened, Listener
from deadheat.campaign.racer import CANARY
from deadheat.campaign.standings import Look, Standings
from deadheat.campaign.trial import Slot, load_spec, measure
from deadheat.campaign.world import World
from deadheat.load import LoadSpec
from deadheat.protocol import Protocol
from deadheat.store import Store, TrialRecord

LATENCY_SHARES = (0.5, 0.7, 0.9)

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
    ) -> None:
        self._world = world
        self._protocol = protocol
        self._store = store
        self._run_id = run_id
        self._entrants = list(entrants)
        self._random = random.Random(seed)
        self._listen = listen
        self._grid = Grid(world, protocol, store, listen)
        self._pace = pace_of(protocol.stopping)
        self._begun_s = world.server_host.now_s()
        self._invocation = 0
        self._trials = 0
        by_role = {
            role: [e.racer.name for e in entrants if e.racer.role == role]
            for role in ("rival", "canary")
        }
        self.standings = Standings(protocol, by_role["rival"], by_role["canary"])

    def run(self) -> Look:
        """Race to the end. What has been measured is in the store, whatever ends this."""
        while True:
            moment = self._invoke()
            if not self.standings.rivals_left or not self._pace.another_invocation(moment):
                return self.standings.last_look()

    def measure_latency(self, duration_s: float) -> None:
        """One more start of all: each rival in open loop at shares of its own median rate.

        Latency from the intended send time says something only below saturation. A rival whose
        rate at the highest level is not known is passed over.
        """
        connections = max(self._protocol.connections)
        self._invocation += 1
        started: list[Started] = []
        try:
            self._start_all(started)
            for one, share in self._shuffled(itertools.product(tuple(started), LATENCY_SHARES)):
                rate_per_s = self.standings.rate_per_s(one.name, connections)
                if one not in started or one.entrant.racer.role != "rival" or rate_per_s is None:
                    continue
                spec = replace(
                    load_spec(self._protocol, one.resident, connections),
                    rate_per_s=share * rate_per_s,
                    duration_s=duration_s,
                    seed=self._random.randrange(2**31),
                )
                self._trial(one, spec, "latency", 1, started)
        finally:
            for one in started:
                self._grid.stop(one)

    def _invoke(self) -> Moment:
        """One invocation: fresh starts, warm, then blocks until the pace says otherwise."""
        begun_s = self._now_s()
        self._invocation += 1
        started: list[Started] = []
        try:
            self._start_all(started)
            moment = Moment(
                invocation=self._invocation,
                blocks=0,
                elapsed_s=self._now_s(),
                starting_s=self._now_s() - begun_s,
                block_s=0.0,
                settled=self.standings.settled,
            )
            while started and self._pace.another_block(moment):
                moment = self._block(started, moment)
            return moment
        finally:
            for one in started:
                self._grid.stop(one)

    def _start_all(self, started: list[Started]) -> None:
        """Start every entrant into `started`, the null server first: it gives the ceiling."""
        order = sorted(self._shuffled(self._entrants), key=lambda e: e.racer.name != CANARY)
        for entrant in order:
            try:
                one = self._grid.start(entrant, self._invocation, self._now_s())
            except Unfit:
                self._entrants.remove(entrant)
                self.standings.drop(entrant.racer.name)
                continue
            started.append(one)
            if one.name == CANARY:
                level = max(self._protocol.connections)
                self.standings.set_ceiling(level, one.warmed.rate_per_s)

    def _block(self, started: list[Started], before: Moment) -> Moment:
        """One pass over every racer at every level, in random order."""
        begun_s = self._now_s()
        block = before.blocks + 1
        passes = itertools.product(tuple(started), self._protocol.connections)
        for one, connections in self._shuffled(passes):
            if one in started:
                spec = load_spec(self._protocol, one.resident, connections)
                record = self._trial(one, spec, "measure", block, started)
                self.standings.add(one.name, record)
        self.standings.look(self._now_s() / self._protocol.stopping.budget_s)
        return Moment(
            invocation=self._invocation,
            blocks=block,
            elapsed_s=self._now_s(),
            starting_s=before.starting_s,
            block_s=max(before.block_s, self._now_s() - begun_s),
            settled=self.standings.settled,
        )

    def _trial(
        self, one: Started, spec: LoadSpec, kind: str, block: int, started: list[Started]
    ) -> TrialRecord:
        """Thaw, load, keep, freeze. A racer that died leaves `started`."""
        self._tell(f"invocation {self._invocation}, block {block}: {one.name}", spec.connections)
        host = self._world.server_host
        slot = Slot(
            run_id=self._run_id,
            contender_id=one.entrant.contender_id,
            start_id=one.start_id,
            kind=kind,
            invocation=self._invocation,
            block=block,
            at_s=self._now_s(),
            steady=one.warmed.kind,
        )
        host.thaw(one.resident.process)
        ceiling_per_s = self.standings.ceiling_per_s(spec.connections)
        record = measure(self._world, one.resident, spec, slot, ceiling_per_s)
        self._store.add_trial(record)
        self._trials += 1
        if record.state == "failed":
            told = f"{one.name} at {spec.connections}: {record.reason}"
            self._listen(Happened(told, trouble=True))
        if host.alive(one.resident.process) is None:
            host.freeze(one.resident.process)
        else:
            started.remove(one)
            self._grid.stop(one)
        return record

    def _shuffled(self, things: Iterable[T]) -> list[T]:
        order = list(things)
        if self._protocol.order == "random":
            self._random.shuffle(order)
        return order

    def _tell(self, what: str, connections: int) -> None:
        stopping = self._protocol.stopping
        left_s = stopping.budget_s - self._now_s() if stopping.kind == "settle" else None
        self._listen(Doing(f"{what} at {connections}", done=self._trials, left_s=left_s))

    def _now_s(self) -> float:
        return self._world.server_host.now_s() - self._begun_s
