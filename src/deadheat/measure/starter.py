"""Starts instances, verified, warm and frozen; again if a start fails by chance; stops them."""

import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace

from deadheat.errors import DeadheatError
from deadheat.events import Event, Listener, Progress
from deadheat.host import HostError
from deadheat.load import LoadResult
from deadheat.load.engine import SliceRequest
from deadheat.measure import lifecycle
from deadheat.measure.contender import Contender, Instance
from deadheat.measure.footprint import read_footprint
from deadheat.measure.lifecycle import (
    UNKNOWN_LISTENER,
    EndedEarly,
    StartFailed,
    Workers,
    behavior_of,
    fault_on,
)
from deadheat.measure.load_process import LoadProcess, close_load, hang_up, load_slice, open_load
from deadheat.measure.trial import load_spec, workload_of
from deadheat.measure.verify import LEAST_DEADLINE_S, first_answer
from deadheat.measure.warm_up import EnteredContender, Load, Warmed, WarmInstance, warm
from deadheat.measure.world import World
from deadheat.protocol import Protocol
from deadheat.stats.warmup.warm_rule import Earlier, Reading
from deadheat.store import Store
from deadheat.store.json_columns import Behavior
from deadheat.strict import JsonObject
from deadheat.workload import HELLO, Level, Workload

RENEWAL_S = 0.5  # of warm-up between renewals of the connections
STOPPED_AT_ONCE = 8
USUAL_START_S = 10.0  # a start may take so long, if as much of the budget is left
ATTEMPTS = 3  # at one start, as long as it fails with `Ended`


class Unfit(Exception):
    """A contender that cannot take part in the run; the store has its fault."""


class OutOfTime(Exception):
    """The budget of the race was spent before an instance was ready. Nothing runs then."""


class Ended(Exception):
    """A start failed that another attempt may repeat well; the store has the fault.

    The server or its load process ended, or the network between two hosts was cut.
    """


class Starter:
    """Starts and stops the instances of a race. The store keeps each.

    A contender that answers a workload wrong is left out of that workload: the instances have it
    in `entered`. `left_s` says how much of the race's budget is left: a start takes no longer.
    `racing` is how many contenders share it: a first start takes no more than one of them has.
    `left_out` has each contender that was verified, with the workloads that it is left out of;
    `readings` has the warm-ups so far by contender and workload. With `keeps_loads`, instances keep
    load processes with open connections, for slices. A contender that `has_place` was measured
    before: a start that fails is a fault of that instance alone.
    """

    def __init__(
        self,
        world: World,
        protocol: Protocol,
        store: Store,
        listen: Listener,
        left_s: Callable[[], float] = lambda: math.inf,
        keeps_loads: bool = False,
        racing: Callable[[], int] = lambda: 2,
        has_place: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.world = world
        self.protocol = protocol
        self.store = store
        self.listen = listen
        self.left_s = left_s
        self.keeps_loads = keeps_loads
        self.racing = racing
        self.has_place = has_place
        self.left_out: dict[str, frozenset[str]] = {}
        self.readings: dict[tuple[str, str], list[Reading]] = {}

    def start(self, entered: EnteredContender, invocation: int, at_s: float) -> WarmInstance:
        """Start, verify (the first time), warm, freeze.

        Raises `Unfit`, or `OutOfTime` at the end of the budget; nothing runs then. A start that
        fails with `Ended` is repeated, with `ATTEMPTS` in all. The store has an instance for each.
        """
        now_s = self.world.server_host.now_s
        begun_s = now_s()
        for number in range(1, ATTEMPTS):
            try:
                attempt = StartAttempt(self, entered, invocation, is_last=False)
                return attempt.run(at_s + now_s() - begun_s)
            except Ended as ended:
                again = f"started again ({number + 1} of {ATTEMPTS} times)"
                self.listen(Event(f"{ended}; it is {again}", trouble=True))
        last = StartAttempt(self, entered, invocation, is_last=True)
        return last.run(at_s + now_s() - begun_s)

    def stop(self, warm: WarmInstance) -> None:
        """Stop it and store the last lines of its log; nothing of its tree survives."""
        stop(self.world, self.store, warm.instance, warm.instance_id, warm.loads)

    def stop_all(self, instances: Sequence[WarmInstance]) -> None:
        """Stop them, several at a time, because some take long to end.

        Stops each, even if stopping another failed; then raises the first failure.
        """
        faults: list[DeadheatError] = []
        with ThreadPoolExecutor(STOPPED_AT_ONCE) as pool:
            endings = [
                pool.submit(end, self.world, each.instance, each.loads) for each in instances
            ]
            for instance, ending in zip(instances, endings, strict=True):
                try:
                    self.store.update_instance(instance.instance_id, **ending.result())
                except DeadheatError as error:
                    faults.append(error)
        if faults:
            raise faults[0]


class StartAttempt:
    """Starts one instance, and stops it again where it cannot be measured.

    A workload that the contender answers wrong is left out of `entered` of the instance.
    `is_last`: no other attempt follows if a process ends by itself.
    """

    def __init__(
        self, starter: Starter, entered: EnteredContender, invocation: int, is_last: bool
    ) -> None:
        self._starter = starter
        self._world = starter.world
        self._protocol = starter.protocol
        self._store = starter.store
        self._listen = starter.listen
        left_out = starter.left_out.get(entered.contender.name, frozenset())
        self._entered = _left_out_of(entered, left_out)
        self._invocation = invocation
        self._is_last = is_last
        self._instance_id = 0
        self._behavior = Behavior()
        self._loads: dict[Level, LoadProcess] = {}
        self._footprint: JsonObject | None = None  # None: its processes are not seen

    def run(self, at_s: float) -> WarmInstance:
        """Start, verify (the first time), warm, freeze.

        Raises `Unfit`, or `Ended` instead if another attempt may go well, or `OutOfTime`.
        """
        contender = self._entered.contender
        if (left_s := self._starter.left_s()) <= 0:
            raise OutOfTime
        self._listen(Progress(f"starting {contender.name}, instance {self._invocation}"))
        begun_s = self._world.server_host.now_s()
        database = database_workload(self._protocol, contender)
        instance = self._start(database, at_s, left_s)
        workers = Workers(self._world.server_host, instance.process) if instance.process else None
        try:
            if contender.name not in self._starter.left_out:
                self._verify(instance)
                instance = replace(instance, contender=self._entered.contender)
            self._footprint = read_footprint(self._world, self._protocol, instance)
            if workers is not None:
                workers.begin()
            self._open_loads(instance)
            instance = replace(instance, contender=self._entered.contender)
            (_, warmed), *later = self._warm(instance).items()
            if workers is not None:
                workers.end(opened_connections=warmed.requests > 0)
            self._require_alive(instance)
        except BaseException:
            stop(self._world, self._store, instance, self._instance_id, self._loads)
            raise
        lifecycle.freeze(self._world, instance)
        return WarmInstance(
            entered=self._entered,
            instance=instance,
            instance_id=self._instance_id,
            warmed=warmed,
            warmed_later=dict(later),
            invocation=self._invocation,
            loads=self._loads,
            took_s=self._world.server_host.now_s() - begun_s,
            workers=workers,
            database=self._world.database.process if database and self._world.database else None,
        )

    def _start(self, database: Workload | None, at_s: float, left_s: float) -> Instance:
        contender = self._entered.contender
        values = {
            "contender_id": self._entered.contender_id,
            "invocation": self._invocation,
            "at_s": at_s,
        }
        try:
            env = {**contender.env, **database_env(self._world, contender, database)}
            # A first start takes its own share: without an answer it costs the others nothing.
            racing = 2 if contender.name in self._starter.left_out else self._starter.racing()
            share_s = max(left_s / max(racing, 1), min(left_s, USUAL_START_S))
            within = replace(contender, ready_s=min(contender.ready_s, share_s), env=env)
            instance = lifecycle.start(self._world, within)
        except StartFailed as error:
            command = list(contender.command_at(0, self._world.server_address))
            self._store.add_instance(
                **values, command=command, fault=error.reason, log_tail=error.log_tail
            )
            if isinstance(error, EndedEarly) and not self._is_last:
                raise Ended(error.reason) from error
            message = f"{error}\n  hint: {error.hint}" if error.hint else str(error)
            if self._starter.left_s() <= 0 and not error.answered:
                self._listen(Event(message, trouble=True))
                raise OutOfTime from error
            raise self._unfit(error.reason, message) from error
        command = list(contender.command_at(instance.port, instance.host))
        self._instance_id = self._store.add_instance(
            **values, command=command, ready_s=instance.ready_s
        )
        return instance

    def _verify(self, instance: Instance) -> None:
        """Leave out the workloads that it answers wrong. Raises `Unfit` if none is left."""
        contender = self._entered.contender
        deadline_s = max(LEAST_DEADLINE_S, self._starter.left_s() / 2)
        behavior = behavior_of(self._world, instance, min(contender.ready_s, deadline_s))
        fault = behavior.fault
        if contender.any_body:
            fault = answers_vary(self._world, instance)
            if behavior.status is None:
                fault = "its first answer was right, and the next request got none in time"
        names = self._workloads() if fault is None else []
        faults = self._workload_faults(instance, names)
        if faults and len(faults) == len(names):
            fault = faults[names[0]]
        self._behavior = behavior
        stored = behavior.as_stored()
        self._store.update_instance(self._instance_id, behavior=stored, fault=fault)
        if fault is not None or faults:
            self._require_alive(instance, "while it was verified")
        if fault is not None:
            raise self._unfit(fault, f"{contender.name} is not measured: {fault}")
        if instance.process and instance.listens_itself is None:
            self._listen(Event(f"{contender.name}: {UNKNOWN_LISTENER}", trouble=True))
        self._starter.left_out[contender.name] = frozenset()
        self._leave_out(faults)

    def _workload_faults(self, instance: Instance, names: Sequence[str]) -> dict[str, str]:
        """What is wrong with its answers, by workload; those that are right are missing."""
        faults: dict[str, str] = {}
        for name in names:
            workload = workload_of(self._protocol, instance.contender, name)
            if workload is not None and (fault := fault_on(self._world, instance, workload)):
                faults[name] = fault
        return faults

    def _leave_out(self, faults: Mapping[str, str]) -> None:
        """Leave the contender out of the workloads with a fault; the store has each fault."""
        if not faults:
            return
        name = self._entered.contender.name
        every = {**self._behavior.workload_faults, **faults}
        self._behavior = self._behavior.model_copy(update={"workload_faults": every})
        self._store.update_instance(self._instance_id, behavior=self._behavior.as_stored())
        for workload, fault in faults.items():
            self._listen(Event(f"{name} is left out of {workload}: {fault}", trouble=True))
        self._starter.left_out[name] |= frozenset(faults)
        self._entered = _left_out_of(self._entered, frozenset(faults))

    def _workloads(self) -> list[str]:
        """What an instance is warmed with: controls get the same load in each workload."""
        contender = self._entered.contender
        names = [name for name in self._protocol.workload_names if contender.answers(name)]
        return names[:1] if contender.role == "control" else names

    def _open_loads(self, instance: Instance) -> None:
        """Open one load process per level, where slices are measured.

        Only one keeps its connections: the one that warms the instance first. The contender is
        left out of the workloads whose load cannot begin. Raises `Ended` where another attempt may
        go well: the load process failed, or the link to the server's host may have.
        """
        if not self._starter.keeps_loads:
            return
        faults: dict[str, str] = {}
        workloads = self._workloads()
        first = Level(workloads[0], max(self._protocol.connections))
        own = [Level(w, c) for w in workloads for c in sorted(self._protocol.connections)]
        at_rates = [each for each in self._protocol.levels if each.offered_rate_per_s]
        if at_rates:  # the warm-up is a closed loop all the same
            own = [first, *(each for each in at_rates if each.workload in workloads)]
            own += [Level(name, first.connections) for name in workloads[1:]]
        for level in sorted(own, key=lambda level: level == first):
            if level.workload in faults:
                continue
            spec = load_spec(
                self._protocol,
                instance,
                level.connections,
                workload=level.workload,
                rate_per_s=level.offered_rate_per_s or None,
            )
            try:
                self._loads[level] = open_load(self._world, spec)
                if level != first:
                    hang_up(self._world, self._loads[level])
            except DeadheatError as error:
                self._require_alive(instance)  # on another host, waits until the link is back
                fault = f"{self._entered.contender.name} cannot be loaded: {error}"
                by_load_process = isinstance(error, HostError)
                if (by_load_process or not self._world.beside) and not self._is_last:
                    self._store.update_instance(self._instance_id, fault=fault)
                    raise Ended(fault) from error
                faults[level.workload] = str(error)
                others_left = len(faults) < len(workloads) and level.workload != HELLO
                if others_left and not by_load_process:
                    continue
                self._store.update_instance(self._instance_id, fault=fault)
                raise self._unfit(fault, fault) from error
        for level in [level for level in self._loads if level.workload in faults]:
            close_load(self._loads.pop(level))
        self._leave_out(faults)
        names = self._workloads()
        for level in self._entered.contender.levels_of(self._protocol):
            first_of_all = replace(level, workload=names[0])
            self._loads.setdefault(level, self._loads[first_of_all])

    def _warm(self, instance: Instance) -> dict[str, Warmed]:
        """Warm it with each of its workloads, because one does not warm what another needs.

        Raises `Ended` if a load failed, and not the server; the last attempt goes on without.
        """
        name = instance.contender.name
        results: dict[str, Warmed] = {}
        for workload in self._workloads():
            on = f" on {workload}" if len(self._protocol.workload_names) > 1 else ""
            self._listen(Progress(f"starting {name}, instance {self._invocation}: warming up{on}"))
            readings = self._starter.readings.setdefault((name, workload), [])
            load = self._loads.get(Level(workload, max(self._protocol.connections)))
            warmed = warm(
                self._world,
                instance,
                self._protocol,
                Earlier.of(readings),
                self._slice_loader(load) if load else None,
                self._starter.left_s,
                workload,
            )
            results[workload] = warmed
            if warmed.reading is not None:
                readings.append(warmed.reading)
            steady = _steady(results, self._footprint)
            self._store.update_instance(self._instance_id, steady=steady)
            dead = lifecycle.ended(self._world, instance) is not None
            if warmed.load_failed and not self._is_last and not dead:
                fault = f"{name} could not be warmed up{on}: {warmed.trouble}"
                self._store.update_instance(self._instance_id, fault=fault)
                raise Ended(fault)
            if warmed.trouble is not None:
                self._listen(Event(f"{name}{on}: {warmed.trouble}", trouble=True))
            if load is not None and len(self._loads) > 1 and not warmed.load_failed:
                with suppress(DeadheatError):  # a dead server is found next
                    hang_up(self._world, load)
        return results

    def _slice_loader(self, load: LoadProcess) -> Load:
        """Warm over the connections that will be measured, and renew them now and then.

        Blocks renew them too. Where nothing ever closed or opened a connection, a JIT compiler
        leaves that code out, and the first renewal makes it compile the server anew.
        """
        since_s = 0.0  # the last renewal

        def load_for(duration_s: float) -> LoadResult:
            nonlocal since_s
            renew = since_s >= RENEWAL_S
            since_s = duration_s if renew else since_s + duration_s
            return load_slice(self._world, load, SliceRequest(duration_s, renew=renew))

        return load_for

    def _require_alive(self, instance: Instance, when: str = "during its warm-up") -> None:
        """Raises `Unfit` where it died; loading a dead server gives an even rate of nothing."""
        ended = lifecycle.ended(self._world, instance)
        if ended is not None:
            fault = f"{instance.contender.name} died {when} ({ended.how})"
            lines = lifecycle.log_tail(self._world, instance).strip().splitlines()[-5:]
            self._store.update_instance(self._instance_id, fault=fault)
            if ended.limit is None and not self._is_last:
                raise Ended(fault)
            raise self._unfit(fault, "\n  | ".join([fault, *lines]))

    def _unfit(self, fault: str, message: str) -> Unfit:
        if not self._starter.has_place(self._entered.contender.name):
            self._store.update_contender(self._entered.contender_id, fault=fault)
        self._listen(Event(message, trouble=True))
        return Unfit(fault)


def stop(
    world: World,
    store: Store,
    instance: Instance,
    instance_id: int,
    loads: Mapping[Level, LoadProcess],
) -> None:
    """Stop an instance and its load processes, and store the last lines of its log."""
    store.update_instance(instance_id, **end(world, instance, loads))


def end(world: World, instance: Instance, loads: Mapping[Level, LoadProcess]) -> JsonObject:
    """Stop an instance and its load processes. Returns what the store keeps of it.

    The instance is stopped even if a load process cannot be. Several threads may do this for
    several instances at the same time.
    """
    tail = lifecycle.log_tail(world, instance)
    try:
        with ExitStack() as closing:
            for load in dict.fromkeys(loads.values()):
                closing.callback(close_load, load)
    finally:
        ended = lifecycle.stop(world, instance)
    how: dict[str, object] = {"how": ended.how}
    if ended.log_cut_bytes:
        how["log_cut_bytes"] = ended.log_cut_bytes
    return {"log_tail": tail, "ended": how}


def _left_out_of(entered: EnteredContender, workloads: frozenset[str]) -> EnteredContender:
    """The contender, left out of these workloads too."""
    left_out = entered.contender.left_out | workloads
    return replace(entered, contender=replace(entered.contender, left_out=left_out))


def _steady(results: Mapping[str, Warmed], footprint: JsonObject | None) -> JsonObject:
    """The warm-up on the first workload as it is stored, with those on others under `later`.

    What the instance used before it is beside them.
    """
    (_, first), *others = results.items()
    later = {workload: warmed.to_json() for workload, warmed in others}
    before = {"footprint": footprint} if footprint else {}
    return {**first.to_json(), **({"later": later} if later else {}), **before}


def answers_vary(world: World, instance: Instance) -> str | None:
    """What is wrong with a user's own server whose answers differ; None if they do not."""
    contender = instance.contender
    if contender.body_varies or contender.sample is not None or contender.speaks_http2:
        return None
    answers = [
        first_answer(world.server_host, instance.address, instance.path, contender.ready_s)
        for _ in range(2)
    ]
    if len({answer.body for answer in answers if answer is not None}) < 2:
        return None
    return "its answers differ from one another; if they are meant to: --any-body"


def database_workload(protocol: Protocol, contender: Contender) -> Workload | None:
    """The workload with a database that a contender answers; a protocol has at most one."""
    for name in filter(contender.answers, protocol.workload_names):
        workload = workload_of(protocol, contender, name)
        if workload is not None and workload.database is not None:
            return workload
    return None


def database_env(world: World, contender: Contender, workload: Workload | None) -> dict[str, str]:
    """What the environment of a server of this workload adds; its database runs then.

    Raises `StartFailed`.
    """
    if world.database is None or contender.url is not None:
        return {}
    try:
        return world.database.environment(workload)
    except DeadheatError as error:
        fault = f"{contender.name} has no database: {error}"
        raise StartFailed(fault, "", error.hint) from error
