"""Starts instances: verified, warm and frozen; and stops them. The store keeps each."""

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from deadheat.errors import DeadheatError
from deadheat.events import Event, Listener, Progress
from deadheat.host import HostError
from deadheat.load import LoadResult
from deadheat.load.slices import SliceRequest
from deadheat.measure import lifecycle
from deadheat.measure.answers import answers_vary, workload_faults
from deadheat.measure.contender import Contender
from deadheat.measure.database_env import database_env, database_workload
from deadheat.measure.lifecycle import UNKNOWN_LISTENER, EndedEarly, Instance, StartFailed
from deadheat.measure.load_process import (
    LoadProcess,
    close_load,
    hang_up,
    load_slice,
    open_load,
)
from deadheat.measure.trial import load_spec
from deadheat.measure.verify import verify
from deadheat.measure.warm_up import Load, Warmed, warm
from deadheat.measure.workers import Workers
from deadheat.measure.world import World
from deadheat.protocol import Protocol
from deadheat.stats.steady import Earlier, Reading
from deadheat.store import Store
from deadheat.workload import HELLO, Level

TRIES = 3  # of one start, if the server or its load process ends by itself


@dataclass(frozen=True, slots=True)
class EnteredContender:
    """A contender with its row in the store."""

    contender: Contender
    contender_id: int


@dataclass(frozen=True, slots=True)
class WarmInstance:
    """A verified, warm and frozen instance, with its row in the store.

    `loads` maps a level to the resident load process that keeps its connections open; it is empty
    where the protocol has no slices. A control has one process for all workloads. `took_s` is what
    starting and warming took. `warmed` is the warm-up on the first workload of a contender;
    `warmed_later` has those on the others, by workload.
    """

    entered: EnteredContender
    instance: Instance
    instance_id: int
    warmed: Warmed
    invocation: int = 1
    loads: Mapping[Level, LoadProcess] = field(default_factory=dict)
    took_s: float = 0.0
    workers: Workers | None = None  # None: it is not ours
    warmed_later: Mapping[str, Warmed] = field(default_factory=dict)
    database: str | None = None  # the process of the workload's database

    @property
    def name(self) -> str:
        return self.entered.contender.name

    def warmed_on(self, workload: str) -> Warmed:
        """Its warm-up on a workload."""
        return self.warmed_later.get(workload, self.warmed)


class Unfit(Exception):
    """A contender that cannot take part in the run; the store has its fault."""


class OutOfTime(Exception):
    """The budget of the race was spent before an instance was ready. Nothing runs then."""


class _Ended(Exception):
    """The server or its load process ended during the start; the store has the fault."""


class Starter:
    """Starts and stops instances, and stores what came of it.

    A contender that answers a workload wrong is left out of that workload: the instances have it
    in `entered`. `left_s` says how much of the race's budget is left: a start takes no longer.
    """

    def __init__(
        self,
        world: World,
        protocol: Protocol,
        store: Store,
        listen: Listener,
        left_s: Callable[[], float] = lambda: math.inf,
    ) -> None:
        self._world = world
        self._protocol = protocol
        self._store = store
        self._listen = listen
        self._left_s = left_s
        self._left_out: dict[str, frozenset[str]] = {}  # workloads, by verified contender
        self._behavior: Mapping[str, Any] = {}  # as stored with the instance that starts now
        self._readings: dict[tuple[str, str], list[Reading]] = {}

    def start(self, entered: EnteredContender, invocation: int, at_s: float) -> WarmInstance:
        """Start, verify (the first time), warm, freeze.

        Raises `Unfit`, or `OutOfTime` at the end of the budget; nothing runs then. A start during
        which a process ends by itself is repeated, with `TRIES` in all. The store has an instance
        for each.
        """
        begun_s = self._world.server_host.now_s()
        for number in range(1, TRIES):
            taken_s = self._world.server_host.now_s() - begun_s
            try:
                return self._start(entered, invocation, at_s + taken_s, is_last=False)
            except _Ended as end:
                again = f"started again ({number + 1} of {TRIES} times)"
                self._listen(Event(f"{end}; it is {again}", trouble=True))
        taken_s = self._world.server_host.now_s() - begun_s
        return self._start(entered, invocation, at_s + taken_s, is_last=True)

    def stop(self, warm_instance: WarmInstance) -> None:
        """Stop it and store the last lines of its log; nothing of its tree survives."""
        self._stop(warm_instance.instance, warm_instance.instance_id, warm_instance.loads)

    def _start(
        self, entered: EnteredContender, invocation: int, at_s: float, is_last: bool
    ) -> WarmInstance:
        """One try; raises `_Ended` instead of `Unfit` if another try may go well."""
        entered = _left_out_of(entered, self._left_out.get(entered.contender.name, frozenset()))
        contender, self._behavior = entered.contender, {}
        if (left_s := self._left_s()) <= 0:
            raise OutOfTime
        self._listen(Progress(f"starting {contender.name}, instance {invocation}"))
        begun_s = self._world.server_host.now_s()
        values = {"contender_id": entered.contender_id, "invocation": invocation, "at_s": at_s}
        try:
            database = database_workload(self._protocol, contender)
            env = {**contender.env, **database_env(self._world, contender, database)}
            within = replace(contender, ready_s=min(contender.ready_s, left_s), env=env)
            instance = lifecycle.start(self._world, within)
        except StartFailed as error:
            if self._left_s() <= 0:
                raise OutOfTime from error
            command = list(contender.command_at(0, self._world.server_address))
            self._store.add_instance(
                **values, command=command, fault=error.reason, log_tail=error.log_tail
            )
            if isinstance(error, EndedEarly) and not is_last:
                raise _Ended(error.reason) from error
            message = f"{error}\n  hint: {error.hint}" if error.hint else str(error)
            raise self._unfit(entered, error.reason, message) from error
        command = list(contender.command_at(instance.port, instance.host))
        instance_id = self._store.add_instance(**values, command=command, ready_s=instance.ready_s)
        loads: dict[Level, LoadProcess] = {}
        workers = Workers(self._world.server_host, instance.process) if instance.process else None
        try:
            if contender.name not in self._left_out:
                entered = self._verify(entered, instance, instance_id, is_last)
                instance = replace(instance, contender=entered.contender)
            if workers is not None:
                workers.begin()
            entered = self._open_loads(entered, instance, instance_id, loads, is_last)
            instance = replace(instance, contender=entered.contender)
            warmed, *later = self._warm(instance, instance_id, invocation, loads, is_last).items()
            if workers is not None:
                workers.end(opened_connections=warmed[1].requests > 0)
            self._require_alive(entered, instance, instance_id, is_last)
        except BaseException:
            self._stop(instance, instance_id, loads)
            raise
        lifecycle.freeze(self._world, instance)
        return WarmInstance(
            entered=entered,
            instance=instance,
            instance_id=instance_id,
            warmed=warmed[1],
            warmed_later=dict(later),
            invocation=invocation,
            loads=loads,
            took_s=self._world.server_host.now_s() - begun_s,
            workers=workers,
            database=self._world.database.process if database and self._world.database else None,
        )

    def _verify(
        self, entered: EnteredContender, instance: Instance, instance_id: int, is_last: bool
    ) -> EnteredContender:
        """The contender without the workloads that it answers wrong.

        Raises `Unfit` if none is left.
        """
        contender = entered.contender
        behavior = verify(
            self._world.server_host,
            instance.address,
            contender.media_type,
            path=instance.path,
            deadline_s=contender.ready_s,
        )
        fault = answers_vary(self._world, instance) if contender.any_body else behavior.fault
        names = self._workloads(contender) if fault is None else []
        faults = workload_faults(self._world, self._protocol, instance, names)
        if faults and len(faults) == len(names):
            fault = faults[names[0]]
        self._behavior = behavior.to_json()
        self._store.update_instance(instance_id, behavior=self._behavior, fault=fault)
        if fault is not None or faults:
            self._require_alive(entered, instance, instance_id, is_last, "while it was verified")
        if fault is not None:
            raise self._unfit(entered, fault, f"{contender.name} is not measured: {fault}")
        if instance.process and instance.listens_itself is None:
            self._listen(Event(f"{contender.name}: {UNKNOWN_LISTENER}", trouble=True))
        self._left_out[contender.name] = frozenset()
        return self._leave_out(entered, instance_id, faults)

    def _leave_out(
        self, entered: EnteredContender, instance_id: int, faults: Mapping[str, str]
    ) -> EnteredContender:
        """The contender without the workloads that have a fault; the store has each fault."""
        if not faults:
            return entered
        name = entered.contender.name
        stored = self._behavior.get("workload_faults", {})
        self._behavior = {**self._behavior, "workload_faults": {**stored, **faults}}
        self._store.update_instance(instance_id, behavior=self._behavior)
        for workload, fault in faults.items():
            self._listen(Event(f"{name} is left out of {workload}: {fault}", trouble=True))
        self._left_out[name] |= frozenset(faults)
        return _left_out_of(entered, frozenset(faults))

    def _workloads(self, contender: Contender) -> list[str]:
        """What an instance is warmed with: controls get the same load in each workload."""
        names = [name for name in self._protocol.workload_names if contender.answers(name)]
        return names[:1] if contender.role == "control" else names

    def _open_loads(
        self,
        entered: EnteredContender,
        instance: Instance,
        instance_id: int,
        loads: dict[Level, LoadProcess],
        is_last: bool,
    ) -> EnteredContender:
        """One load process per level, where the protocol has slices.

        Only one keeps its connections: the one that warms the instance first. Returns the
        contender without the workloads whose load cannot begin.
        """
        if self._protocol.slices is None:
            return entered
        faults: dict[str, str] = {}
        workloads = self._workloads(entered.contender)
        first = Level(workloads[0], max(self._protocol.connections))
        own = [Level(w, c) for w in workloads for c in sorted(self._protocol.connections)]
        for level in sorted(own, key=lambda level: level == first):
            if level.workload in faults:
                continue
            spec = load_spec(self._protocol, instance, level.connections, workload=level.workload)
            try:
                loads[level] = open_load(self._world, spec)
                if level != first:
                    hang_up(self._world, loads[level])
            except DeadheatError as error:
                self._require_alive(entered, instance, instance_id, is_last)
                fault = f"{entered.contender.name} cannot be loaded: {error}"
                faults[level.workload] = str(error)
                others_left = len(faults) < len(workloads) and level.workload != HELLO
                if others_left and not isinstance(error, HostError):
                    continue
                self._store.update_instance(instance_id, fault=fault)
                if isinstance(error, HostError) and not is_last:
                    raise _Ended(fault) from error
                raise self._unfit(entered, fault, fault) from error
        for level in [level for level in loads if level.workload in faults]:
            close_load(self._world, loads.pop(level))
        entered = self._leave_out(entered, instance_id, faults)
        names = self._workloads(entered.contender)
        for level in entered.contender.levels_of(self._protocol):
            loads.setdefault(level, loads[Level(names[0], level.connections)])
        return entered

    def _warm(
        self,
        instance: Instance,
        instance_id: int,
        invocation: int,
        loads: Mapping[Level, LoadProcess],
        is_last: bool,
    ) -> dict[str, Warmed]:
        """Warm it with each of its workloads, because one does not warm what another needs.

        Raises `_Ended` if a load failed, and not the server; the last try goes on without.
        """
        name = instance.contender.name
        results: dict[str, Warmed] = {}
        for workload in self._workloads(instance.contender):
            on = f" on {workload}" if len(self._protocol.workload_names) > 1 else ""
            self._listen(Progress(f"starting {name}, instance {invocation}: warming up{on}"))
            readings = self._readings.setdefault((name, workload), [])
            load = loads.get(Level(workload, max(self._protocol.connections)))
            warmed = warm(
                self._world,
                instance,
                self._protocol,
                Earlier.of(readings),
                self._slice_loader(load) if load else None,
                self._left_s,
                workload,
            )
            results[workload] = warmed
            if warmed.reading is not None:
                readings.append(warmed.reading)
            self._store.update_instance(instance_id, steady=_steady(results))
            dead = lifecycle.ended(self._world, instance) is not None
            if warmed.load_failed and not is_last and not dead:
                fault = f"{name} could not be warmed up{on}: {warmed.trouble}"
                self._store.update_instance(instance_id, fault=fault)
                raise _Ended(fault)
            if warmed.trouble is not None:
                self._listen(Event(f"{name}{on}: {warmed.trouble}", trouble=True))
            if load is not None and len(loads) > 1 and not warmed.load_failed:
                with suppress(DeadheatError):  # a dead server is found next
                    hang_up(self._world, load)
        return results

    def _slice_loader(self, load: LoadProcess) -> Load:
        """Warm over the connections that will be measured, where they are open already."""

        def load_for(duration_s: float) -> LoadResult:
            return load_slice(self._world, load, SliceRequest(duration_s))

        return load_for

    def _require_alive(
        self,
        entered: EnteredContender,
        instance: Instance,
        instance_id: int,
        is_last: bool,
        when: str = "during its warm-up",
    ) -> None:
        """Raises `Unfit` where it died; loading a dead server gives an even rate of nothing."""
        ended = lifecycle.ended(self._world, instance)
        if ended is not None:
            fault = f"{instance.contender.name} died {when} ({ended.how})"
            lines = lifecycle.log_tail(self._world, instance).strip().splitlines()[-5:]
            self._store.update_instance(instance_id, fault=fault)
            if ended.limit is None and not is_last:
                raise _Ended(fault)
            raise self._unfit(entered, fault, "\n  | ".join([fault, *lines]))

    def _unfit(self, entered: EnteredContender, fault: str, message: str) -> Unfit:
        self._store.update_contender(entered.contender_id, fault=fault)
        self._listen(Event(message, trouble=True))
        return Unfit(fault)

    def _stop(
        self, instance: Instance, instance_id: int, loads: Mapping[Level, LoadProcess]
    ) -> None:
        tail = lifecycle.log_tail(self._world, instance)
        for load in {load.process: load for load in loads.values()}.values():
            close_load(self._world, load)
        ended = lifecycle.stop(self._world, instance)
        how: dict[str, Any] = {"how": ended.how}
        if ended.log_cut_bytes:
            how["log_cut_bytes"] = ended.log_cut_bytes
        self._store.update_instance(instance_id, log_tail=tail, ended=how)


def _left_out_of(entered: EnteredContender, workloads: frozenset[str]) -> EnteredContender:
    """The contender, left out of these workloads too."""
    left_out = entered.contender.left_out | workloads
    return replace(entered, contender=replace(entered.contender, left_out=left_out))


def _steady(results: Mapping[str, Warmed]) -> dict[str, Any]:
    """The warm-up on the first workload as it is stored, with those on others under `later`."""
    (_, first), *others = results.items()
    later = {workload: warmed.to_json() for workload, warmed in others}
    return first.to_json() | ({"later": later} if later else {})
