"""Inspection of a contender: start, verify, load, count the connections served, stop."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from deadheat.build.prepare import Candidate
from deadheat.errors import DeadheatError
from deadheat.load import LoadResult, LoadSpec
from deadheat.measure import lifecycle
from deadheat.measure.contender import contender_from
from deadheat.measure.database import DatabaseMissing
from deadheat.measure.lifecycle import Instance, StartFailed
from deadheat.measure.listening import BacklogReading, backlog_reading
from deadheat.measure.load_process import load_once
from deadheat.measure.verify import Behavior, growth_fault, verify, workload_fault
from deadheat.measure.world import World
from deadheat.workload import Workload

SERVE_S = 1.0
RETRY_S = 10.0  # a slow server or machine needs longer to serve all connections
RETRIES = 3  # one load more or less can change the count by hundreds


@dataclass(frozen=True, slots=True)
class Inspection:
    """The result for one contender.

    `fault` is what prevents it from working: a missing tool, a failed build, a wrong answer.
    `words` are the last lines of its log; they are printed but not in JSON, because they contain
    paths of this machine. `cautions` are problems while it ran. `served` maps a number of
    connections to how many of them got an answer, the least of several loads; `served_most` has the
    most where that is another number. `frozen_s` is how long it was frozen at least; None: not at
    all.
    """

    name: str
    server: str
    setting: str
    version: str | None = None
    build_key: str | None = None
    source_key: str | None = None
    fault: str | None = None
    words: str = ""
    lacks: tuple[str, ...] = ()
    ready_s: float | None = None
    idle_memory_bytes: int | None = None
    behavior: Mapping[str, Any] | None = None
    served: Mapping[str, int] = field(default_factory=dict)
    served_most: Mapping[str, int] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()
    frozen_s: float | None = None
    stop: str | None = None
    workloads: tuple[str, ...] = ()  # that it answers right, apart from hello

    @property
    def state(self) -> str:
        if self.lacks:
            return "missing here"
        if self.fault is not None:
            return "fails"
        return "works, with a note" if self.cautions else "works"

    def to_json(self) -> dict[str, Any]:
        values = {"state": self.state, **asdict(self)}
        del values["words"]
        return values

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Inspection":
        """Raises `KeyError` or `TypeError` for a row that `to_json` did not write."""
        values = {key: value for key, value in row.items() if key != "state"}
        lists = {name: tuple(row[name]) for name in ("lacks", "cautions", "workloads")}
        return cls(**{**values, **lists})


def inspect(
    world: World,
    candidate: Candidate,
    levels: Sequence[int] = (),
    workloads: Sequence[Workload] = (),
) -> Inspection:
    """Start, verify with all `workloads`, load at each of `levels`, stop.

    Failures are in the result.
    """
    selection = candidate.selection
    identity: dict[str, Any] = {
        "name": selection.name,
        "server": selection.server.name,
        "setting": selection.setting,
        "version": candidate.version,
        "source_key": selection.source_key,
    }
    if candidate.built is None:
        fault, *lines = (candidate.fault or "").splitlines()
        words = "\n".join(line.removeprefix("  | ") for line in lines)
        return Inspection(**identity, fault=fault, words=words, lacks=candidate.lacks)
    identity["build_key"] = candidate.built.key
    contender = contender_from(selection, candidate.built)
    cautions: list[str] = []
    try:
        env = _database_env(world, workloads)
    except DatabaseMissing as error:
        env, tried = {}, [each for each in workloads if each.database is None]
        left_out = [each.name for each in workloads if each not in tried]
        cautions.append(f"workload {', '.join(left_out)} not tried: {error} ({error.hint})")
        workloads = tried
    except DeadheatError as error:
        return Inspection(**identity, fault=str(error))
    try:
        instance = lifecycle.start(world, replace(contender, env={**contender.env, **env}))
    except StartFailed as error:
        return Inspection(**identity, fault=error.reason, words=error.log_tail)
    served: dict[str, int] = {}
    served_most: dict[str, int] = {}
    try:
        memory_bytes = world.server_host.usage(instance.process).memory_bytes
        if instance.listens_itself is None:
            cautions.append(lifecycle.UNKNOWN_LISTENER)
        backlog = _backlog(world, instance, selection.start.backlog)
        if backlog.agrees is False:
            cautions.append(str(backlog))
        behavior = verify(
            world.server_host,
            instance.address,
            contender.media_type,
            deadline_s=contender.ready_s,
        )
        wrong = behavior.fault or _unknown_path_fault(behavior)
        for workload in workloads:
            wrong = wrong or workload_fault(
                world.server_host, instance.address, workload, contender.ready_s
            )
            wrong = wrong or growth_fault(
                world.server_host,
                instance.process,
                instance.address,
                workload,
                contender.ready_s,
            )
        for connections in levels if wrong is None else ():
            counts, caution = _serve(world, instance, connections)
            served[str(connections)] = min(counts)
            if max(counts) != min(counts):
                served_most[str(connections)] = max(counts)
            cautions += [caution] if caution else []
    finally:
        stopped_s = world.server_host.now_s()
        ended = lifecycle.stop(world, instance)
    took_s = world.server_host.now_s() - stopped_s
    if ended.killed:
        cautions.append(
            f"killed, because it had not ended {contender.stop_s:g} s after {contender.stop_signal}"
        )
    return Inspection(
        **identity,
        fault=wrong,
        ready_s=round(instance.ready_s, 3),
        idle_memory_bytes=memory_bytes,
        behavior=behavior.to_json(),
        served=served,
        served_most=served_most,
        cautions=tuple(cautions),
        stop=f"{ended.how} {took_s:.2f} s after {contender.stop_signal}",
        workloads=tuple(each.name for each in workloads) if wrong is None else (),
    )


def _backlog(world: World, instance: Instance, declared: int | Literal["system"]) -> BacklogReading:
    listeners = world.server_host.listeners(instance.process, instance.port)
    return backlog_reading(listeners, instance.port, instance.host, declared)


def _database_env(world: World, workloads: Sequence[Workload]) -> dict[str, str]:
    """The environment that the workloads with a database add. Raises as `Database` does."""
    env: dict[str, str] = {}
    if world.database is not None:
        for workload in workloads:
            env |= world.database.environment(workload)
    return env


def _unknown_path_fault(behavior: Behavior) -> str | None:
    """The catalog's own rule: a server looks at the path. See docs/rules.md."""
    if behavior.unknown_path != 200:
        return None
    return "expected an error for an unknown path, such as 404, got 200"


def _serve(world: World, instance: Instance, connections: int) -> tuple[list[int], str | None]:
    """How many connections got an answer in each load, and a caution if something is wrong.

    If a short load does not serve all, three longer ones count instead.
    """
    try:
        short = short_load(world, instance, connections)
        if short is not None:
            results = [short]
        else:
            results = [load_server(world, instance, connections, RETRY_S) for _ in range(RETRIES)]
    except DeadheatError as error:
        return [0], f"at {connections} connections: {error}"
    if lifecycle.ended(world, instance) is not None:
        return [0], f"it died at {connections} connections"
    counts = [result.connections_served or 0 for result in results]
    least, most = min(counts), max(counts)
    if least < connections:
        range_ = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        return counts, f"{range_} of {connections:,} connections served in {RETRY_S:g} s"
    errors = Counter[str]()
    for result in results:
        errors.update(result.errors)
    if errors.total():
        by_class = ", ".join(f"{n:,} {name}" for name, n in errors.items() if n)
        return counts, f"errors at {connections:,} connections: {by_class}"
    return counts, None


def short_load(world: World, instance: Instance, connections: int) -> LoadResult | None:
    """A load of `SERVE_S` that all connections survive, or None."""
    try:
        result = load_server(world, instance, connections, SERVE_S)
    except DeadheatError:  # on a busy machine, the first request alone may take longer
        return None
    complete = (result.connections_served or 0) >= connections and not result.errors_total
    return result if complete else None


def load_server(
    world: World, instance: Instance, connections: int, duration_s: float
) -> LoadResult:
    """One load on an instance. Raises `DeadheatError` if there is no result."""
    spec = LoadSpec(
        url=instance.url, connections=connections, duration_s=duration_s, timeout_s=duration_s
    )
    return load_once(world, spec)
