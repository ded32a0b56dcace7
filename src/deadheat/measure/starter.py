"""The grid: racers brought to the start, verified and warm, and taken off again, each kept."""

from dataclasses import dataclass

from deadheat.events import Event, Listener, Progress
from deadheat.measure import lifecycle
from deadheat.measure.contender import Contender
from deadheat.measure.lifecycle import Instance, StartFailed
from deadheat.measure.verify import first_answer, verify
from deadheat.measure.warm_up import Warmed, warm
from deadheat.measure.world import World
from deadheat.protocol import Protocol
from deadheat.store import Store


@dataclass(frozen=True, slots=True)
class Entrant:
    """A racer with its row in the store."""

    contender: Contender
    contender_id: int


@dataclass(frozen=True, slots=True)
class WarmInstance:
    """An entrant that runs, warm and frozen, with the row of this start."""

    entrant: Entrant
    instance: Instance
    instance_id: int
    warmed: Warmed

    @property
    def name(self) -> str:
        return self.entrant.contender.name


class Unfit(Exception):
    """An entrant that cannot take part in the run: its fault has been kept."""


class Starter:
    """Starts and stops entrants, and writes down what came of it."""

    def __init__(self, world: World, protocol: Protocol, store: Store, listen: Listener) -> None:
        self._world = world
        self._protocol = protocol
        self._store = store
        self._listen = listen
        self._verified: set[str] = set()

    def start(self, entrant: Entrant, invocation: int, at_s: float) -> WarmInstance:
        """Start, verify (the first time), warm, freeze. Raises `Unfit`; nothing runs then."""
        contender = entrant.contender
        self._listen(Progress(f"invocation {invocation}: starting {contender.name}"))
        kept = {"contender_id": entrant.contender_id, "invocation": invocation, "at_s": at_s}
        try:
            instance = lifecycle.start(self._world, contender)
        except StartFailed as error:
            command = list(contender.command_at(0))
            self._store.add_instance(
                **kept, command=command, fault=error.reason, log_tail=error.log_tail
            )
            told = f"{error}\n  way out: {error.hint}" if error.hint else str(error)
            raise self._unfit(entrant, error.reason, told) from error
        command = list(contender.command_at(instance.port))
        instance_id = self._store.add_instance(**kept, command=command, ready_s=instance.ready_s)
        try:
            if contender.name not in self._verified:
                self._verify(entrant, instance, instance_id)
            warmed = self._warm(instance, instance_id, invocation)
            self._require_alive(entrant, instance, instance_id)
        except BaseException:
            self._take_off(instance, instance_id)
            raise
        lifecycle.freeze(self._world, instance)
        return WarmInstance(entrant, instance, instance_id, warmed)

    def stop(self, one: WarmInstance) -> None:
        """Stop it and keep its last words; nothing of its tree survives."""
        self._take_off(one.instance, one.instance_id)

    def _verify(self, entrant: Entrant, instance: Instance, instance_id: int) -> None:
        contender = entrant.contender
        behavior = verify(
            self._world.server_host, instance.address, contender.media_type, path=instance.path
        )
        fault = _varied(self._world, instance) if contender.any_body else behavior.fault
        self._store.update_instance(instance_id, behavior=behavior.to_json(), fault=fault)
        if fault is not None:
            raise self._unfit(entrant, fault, f"{contender.name} is not measured: {fault}")
        self._verified.add(contender.name)

    def _warm(self, instance: Instance, instance_id: int, invocation: int) -> Warmed:
        name = instance.contender.name
        self._listen(Progress(f"invocation {invocation}: warming {name}"))
        warmed = warm(self._world, instance, self._protocol)
        self._store.update_instance(instance_id, steady=warmed.to_json())
        if warmed.trouble is not None:
            self._listen(Event(f"{name}: {warmed.trouble}", trouble=True))
        return warmed

    def _require_alive(self, entrant: Entrant, instance: Instance, instance_id: int) -> None:
        """Loading the dead gives an even rate, of nothing."""
        ended = lifecycle.ended(self._world, instance)
        if ended is not None:
            fault = f"{instance.contender.name} died while it was warmed ({ended.how})"
            words = lifecycle.log_tail(self._world, instance).strip().splitlines()[-5:]
            self._store.update_instance(instance_id, fault=fault)
            raise self._unfit(entrant, fault, "\n  | ".join([fault, *words]))

    def _unfit(self, entrant: Entrant, fault: str, told: str) -> Unfit:
        self._store.update_contender(entrant.contender_id, fault=fault)
        self._listen(Event(told, trouble=True))
        return Unfit(fault)

    def _take_off(self, instance: Instance, instance_id: int) -> None:
        tail = lifecycle.log_tail(self._world, instance)
        ended = lifecycle.stop(self._world, instance)
        self._store.update_instance(instance_id, log_tail=tail, ended={"how": ended.how})


def _varied(world: World, instance: Instance) -> str | None:
    """What is wrong with a user's own server whose answers are not alike; None if they are."""
    if instance.contender.body_varies:
        return None
    answers = [first_answer(world.server_host, instance.address, instance.path) for _ in range(2)]
    if len({answer.body for answer in answers if answer is not None}) < 2:
        return None
    return "its answers are not alike; if they are meant to vary: --any-body"
