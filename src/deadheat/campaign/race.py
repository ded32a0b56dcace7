"""The race: invocations of frozen racers, randomised complete blocks, one running at a time."""

import itertools
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from deadheat.campaign import lifecycle
from deadheat.campaign.lifecycle import Resident, StartFailed
from deadheat.campaign.pace import Moment, pace_of
from deadheat.campaign.progress import Doing, Happened, Listener
from deadheat.campaign.racer import CANARY, Racer
from deadheat.campaign.standings import Standings
from deadheat.campaign.trial import Slot, load_spec, measure
from deadheat.campaign.verify import verify
from deadheat.campaign.warm import Warmed, warm
from deadheat.campaign.world import World
from deadheat.protocol import Protocol
from deadheat.store import Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entrant:
    """A racer with its row in the store."""

    racer: Racer
    contender_id: int


@dataclass(frozen=True, slots=True)
class _Started:
    entrant: Entrant
    resident: Resident
    start_id: int


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
        self._pace = pace_of(protocol.stopping)
        self._begun_s = world.server_host.now_s()
        self._invocation = 0
        self._trials = 0
        rivals = [e.racer.name for e in entrants if e.racer.role == "rival"]
        self.standings = Standings(protocol, rivals)

    def run(self) -> Standings:
        """Race to the end. What has been measured is in the store, whatever ends this."""
        while True:
            self._invocation += 1
            moment = self._invoke()
            if not self.standings.rivals_left or not self._pace.another_invocation(moment):
                return self.standings

    def _invoke(self) -> Moment:
        """One invocation: fresh starts, warm, then blocks until the pace says otherwise."""
        begun_s = self._now_s()
        started: list[_Started] = []
        try:
            for entrant in self._shuffled(self._entrants):
                if (one := self._start(entrant)) is not None:
                    started.append(one)
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
        finally:
            for one in started:
                self._stop(one)
        return moment

    def _block(self, started: list[_Started], before: Moment) -> Moment:
        """One pass over every racer at every level, in random order."""
        begun_s = self._now_s()
        block = before.blocks + 1
        for one, connections in self._shuffled(
            itertools.product(tuple(started), self._protocol.connections)
        ):
            if one in started:
                self._trial(one, block, connections, started)
        self.standings.close_block()
        return Moment(
            invocation=self._invocation,
            blocks=block,
            elapsed_s=self._now_s(),
            starting_s=before.starting_s,
            block_s=max(before.block_s, self._now_s() - begun_s),
            settled=self.standings.settled,
        )

    def _trial(self, one: _Started, block: int, connections: int, started: list[_Started]) -> None:
        name = one.entrant.racer.name
        self._tell(f"invocation {self._invocation}, block {block}: {name} at {connections}")
        slot = Slot(
            run_id=self._run_id,
            contender_id=one.entrant.contender_id,
            start_id=one.start_id,
            kind="measure",
            invocation=self._invocation,
            block=block,
            at_s=self._now_s(),
        )
        host = self._world.server_host
        host.thaw(one.resident.process)
        record = measure(
            self._world,
            one.resident,
            load_spec(self._protocol, one.resident, connections),
            slot,
            self.standings.ceiling_per_s(connections),
        )
        self._store.add_trial(record)
        self._trials += 1
        self.standings.add(name, connections, record)
        if record.state == "failed":
            self._listen(Happened(f"{name} at {connections}: {record.reason}", trouble=True))
        if host.alive(one.resident.process) is None:
            host.freeze(one.resident.process)
        else:
            started.remove(one)
            self._stop(one)

    def _start(self, entrant: Entrant) -> _Started | None:
        """Start, verify and warm one racer, and freeze it until its turn."""
        racer = entrant.racer
        self._tell(f"invocation {self._invocation}: starting {racer.name}")
        at_s = self._now_s()
        kept = {"contender_id": entrant.contender_id, "invocation": self._invocation, "at_s": at_s}
        try:
            resident = lifecycle.start(self._world, racer)
        except StartFailed as error:
            command = list(racer.command_at(0))
            self._store.add_start(
                **kept, command=command, fault=error.reason, log_tail=error.log_tail
            )
            self._drop(entrant, error.reason)
            self._listen(Happened(str(error), trouble=True))
            return None
        start_id = self._store.add_start(
            **kept, command=list(racer.command_at(resident.port)), ready_s=resident.ready_s
        )
        one = _Started(entrant, resident, start_id)
        if self._invocation == 1 and not self._verified(one):
            self._stop(one)
            return None
        warmed = self._warm(one)
        self._store.update_start(start_id, steady=warmed.to_json())
        if self._world.server_host.alive(resident.process) is not None:
            self._listen(Happened(f"{racer.name} died while it was warmed", trouble=True))
            self._stop(one)
            return None
        self._world.server_host.freeze(resident.process)
        return one

    def _verified(self, one: _Started) -> bool:
        racer = one.entrant.racer
        card = verify(self._world.server_host, one.resident.address, racer.media_type)
        fault = None if racer.any_body else card.fault
        self._store.update_start(one.start_id, card=card.to_json(), fault=fault)
        if fault is not None:
            self._drop(one.entrant, fault)
            self._listen(Happened(f"{racer.name} is not measured: {fault}", trouble=True))
        return fault is None

    def _warm(self, one: _Started) -> Warmed:
        self._tell(f"invocation {self._invocation}: warming {one.entrant.racer.name}")
        warmed = warm(self._world, one.resident, self._protocol)
        if one.entrant.racer.name == CANARY:
            self.standings.set_ceiling(max(self._protocol.connections), warmed.rate_per_s)
        if warmed.trouble is not None:
            self._listen(Happened(f"{one.entrant.racer.name}: {warmed.trouble}", trouble=True))
        return warmed

    def _drop(self, entrant: Entrant, fault: str) -> None:
        """Out of the run: a racer that cannot start once is not tried again."""
        self._entrants.remove(entrant)
        self.standings.drop(entrant.racer.name)
        self._store.update_contender(entrant.contender_id, fault=fault)

    def _stop(self, one: _Started) -> None:
        tail = lifecycle.log_tail(self._world, one.resident)
        ended = lifecycle.stop(self._world, one.resident)
        self._store.update_start(
            one.start_id,
            log_tail=tail,
            ended={
                "exit_code": ended.exit_code,
                "elapsed_s": ended.elapsed_s,
                "killed": ended.killed,
                "survivors": ended.survivors,
            },
        )

    def _shuffled(self, things: Iterable[T]) -> list[T]:
        order = list(things)
        if self._protocol.order == "random":
            self._random.shuffle(order)
        return order

    def _tell(self, what: str) -> None:
        stopping = self._protocol.stopping
        left_s = stopping.budget_s - self._now_s() if stopping.kind == "settle" else None
        self._listen(Doing(what, done=self._trials, left_s=left_s))

    def _now_s(self) -> float:
        return self._world.server_host.now_s() - self._begun_s
