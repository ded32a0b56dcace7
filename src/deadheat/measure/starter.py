"""The grid: racers brought to the start, verified and warm, and taken off again, each kept."""

from dataclasses import dataclass

from deadheat.events import Doing, Happened, Listener
from deadheat.measure import lifecycle
from deadheat.measure.contender import Racer
from deadheat.measure.lifecycle import Resident, StartFailed
from deadheat.measure.verify import first_answer, verify
from deadheat.measure.warm_up import Warmed, warm
from deadheat.measure.world import World
from deadheat.protocol import Protocol
from deadheat.store import Store


@dataclass(frozen=True, slots=True)
class Entrant:
    """A racer with its row in the store."""

    racer: Racer
    contender_id: int


@dataclass(frozen=True, slots=True)
class Started:
    """An entrant that runs, warm and frozen, with the row of this start."""

    entrant: Entrant
    resident: Resident
    start_id: int
    warmed: Warmed

    @property
    def name(self) -> str:
        return self.entrant.racer.name


class Unfit(Exception):
    """An entrant that cannot take part in the run: its fault has been kept."""


class Grid:
    """Starts and stops entrants, and writes down what came of it."""

    def __init__(self, world: World, protocol: Protocol, store: Store, listen: Listener) -> None:
        self._world = world
        self._protocol = protocol
        self._store = store
        self._listen = listen
        self._verified: set[str] = set()

    def start(self, entrant: Entrant, invocation: int, at_s: float) -> Started:
        """Start, verify (the first time), warm, freeze. Raises `Unfit`; nothing runs then."""
        racer = entrant.racer
        self._listen(Doing(f"invocation {invocation}: starting {racer.name}"))
        kept = {"contender_id": entrant.contender_id, "invocation": invocation, "at_s": at_s}
        try:
            resident = lifecycle.start(self._world, racer)
        except StartFailed as error:
            command = list(racer.command_at(0))
            self._store.add_start(
                **kept, command=command, fault=error.reason, log_tail=error.log_tail
            )
            told = f"{error}\n  way out: {error.hint}" if error.hint else str(error)
            raise self._unfit(entrant, error.reason, told) from error
        command = list(racer.command_at(resident.port))
        start_id = self._store.add_start(**kept, command=command, ready_s=resident.ready_s)
        try:
            if racer.name not in self._verified:
                self._verify(entrant, resident, start_id)
            warmed = self._warm(resident, start_id, invocation)
            self._require_alive(entrant, resident, start_id)
        except BaseException:
            self._take_off(resident, start_id)
            raise
        lifecycle.freeze(self._world, resident)
        return Started(entrant, resident, start_id, warmed)

    def stop(self, one: Started) -> None:
        """Stop it and keep its last words; nothing of its tree survives."""
        self._take_off(one.resident, one.start_id)

    def _verify(self, entrant: Entrant, resident: Resident, start_id: int) -> None:
        racer = entrant.racer
        card = verify(
            self._world.server_host, resident.address, racer.media_type, path=resident.path
        )
        fault = _varied(self._world, resident) if racer.any_body else card.fault
        self._store.update_start(start_id, card=card.to_json(), fault=fault)
        if fault is not None:
            raise self._unfit(entrant, fault, f"{racer.name} is not measured: {fault}")
        self._verified.add(racer.name)

    def _warm(self, resident: Resident, start_id: int, invocation: int) -> Warmed:
        name = resident.racer.name
        self._listen(Doing(f"invocation {invocation}: warming {name}"))
        warmed = warm(self._world, resident, self._protocol)
        self._store.update_start(start_id, steady=warmed.to_json())
        if warmed.trouble is not None:
            self._listen(Happened(f"{name}: {warmed.trouble}", trouble=True))
        return warmed

    def _require_alive(self, entrant: Entrant, resident: Resident, start_id: int) -> None:
        """Loading the dead gives an even rate, of nothing."""
        ended = lifecycle.ended(self._world, resident)
        if ended is not None:
            fault = f"{resident.racer.name} died while it was warmed ({ended.how})"
            words = lifecycle.log_tail(self._world, resident).strip().splitlines()[-5:]
            self._store.update_start(start_id, fault=fault)
            raise self._unfit(entrant, fault, "\n  | ".join([fault, *words]))

    def _unfit(self, entrant: Entrant, fault: str, told: str) -> Unfit:
        self._store.update_contender(entrant.contender_id, fault=fault)
        self._listen(Happened(told, trouble=True))
        return Unfit(fault)

    def _take_off(self, resident: Resident, start_id: int) -> None:
        tail = lifecycle.log_tail(self._world, resident)
        ended = lifecycle.stop(self._world, resident)
        self._store.update_start(start_id, log_tail=tail, ended={"how": ended.how})


def _varied(world: World, resident: Resident) -> str | None:
    """What is wrong with a user's own server whose answers are not alike; None if they are."""
    if resident.racer.body_varies:
        return None
    answers = [first_answer(world.server_host, resident.address, resident.path) for _ in range(2)]
    if len({answer.body for answer in answers if answer is not None}) < 2:
        return None
    return "its answers are not alike; if they are meant to vary: --any-body"
