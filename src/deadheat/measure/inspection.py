"""Inspection of a contender: start, verify, load, count the connections served, stop."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from deadheat.build.prepare import Candidate
from deadheat.errors import DeadheatError
from deadheat.load import Engine, LoadResult, LoadSpec
from deadheat.measure import lifecycle
from deadheat.measure.contender import Contender, Instance, contender_from
from deadheat.measure.database import DatabaseMissing
from deadheat.measure.footprint import threads_of
from deadheat.measure.http2 import ready_fault
from deadheat.measure.lifecycle import StartFailed
from deadheat.measure.listening import backlog_reading
from deadheat.measure.load_process import load_once
from deadheat.measure.starter import answers_vary
from deadheat.measure.trial import load_arguments
from deadheat.measure.verify import BODY, ask_payload, growth_fault
from deadheat.measure.world import World
from deadheat.numbers import percent
from deadheat.store.json_columns import Behavior
from deadheat.strict import JsonObject
from deadheat.workload import Workload

SERVE_S = 1.0
RETRY_S = 10.0  # a slow server or machine needs longer to serve all connections
LATE = ("connect_timeout", "tls_timeout", "timeout_first_byte", "timeout_body", "unfinished")
WRONG_ANSWERS = (
    *("status", "content_type", "body_mismatch", "body_length", "malformed"),
    *("unsolicited", "unsolicited_idle"),
)
IDLE_S = 0.5
IDLE_SHARE_MAX = 0.5  # of a CPU, while no request comes
IDLE_TRIES = 3  # a compiler may still work after the first requests
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
    behavior: Behavior | None = None
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

    def to_json(self) -> JsonObject:
        values = {"state": self.state, **asdict(self)}
        values["behavior"] = self.behavior.as_stored() if self.behavior else None
        del values["words"]
        return values

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Inspection":
        """Raises `KeyError`, `TypeError` or `ValueError` for a row that `to_json` did not write."""
        values = {key: value for key, value in row.items() if key != "state"}
        lists = {name: tuple(row[name]) for name in ("lacks", "cautions", "workloads")}
        behavior = row["behavior"] and Behavior.model_validate(row["behavior"])
        return cls(**{**values, **lists, "behavior": behavior})


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
    inspection = Inspection(
        name=selection.name,
        server=selection.server.name,
        setting=selection.setting,
        version=candidate.version,
        source_key=selection.source_key,
    )
    if candidate.built is None:
        fault, *lines = (candidate.fault or "").splitlines()
        words = "\n".join(line.removeprefix("  | ") for line in lines)
        return replace(inspection, fault=fault, words=words, lacks=candidate.lacks)
    inspection = replace(inspection, build_key=candidate.built.key)
    contender = contender_from(selection, candidate.built)
    backlog = selection.start.backlog
    return _inspect(world, contender, inspection, levels, workloads, backlog)


def inspect_own(
    world: World, contender: Contender, levels: Sequence[int], workloads: Sequence[Workload]
) -> Inspection:
    """The same for a server of the user's own. What it is loaded with is the first workload."""
    inspection = Inspection(name=contender.name, server="", setting="default")
    return _inspect(world, contender, inspection, levels, workloads, None)


def _inspect(
    world: World,
    contender: Contender,
    inspection: Inspection,
    levels: Sequence[int],
    workloads: Sequence[Workload],
    declared_backlog: int | Literal["system"] | None,
) -> Inspection:
    cautions: list[str] = []
    try:
        env = _database_env(world, workloads)
    except DatabaseMissing as error:
        env, tried = {}, [each for each in workloads if each.database is None]
        left_out = [each.name for each in workloads if each not in tried]
        cautions.append(f"workload {', '.join(left_out)} not tried: {error} ({error.hint})")
        workloads = tried
    except DeadheatError as error:
        return replace(inspection, fault=str(error))
    try:
        instance = lifecycle.start(world, replace(contender, env={**contender.env, **env}))
    except StartFailed as error:
        fault = f"{error.reason} ({error.hint})" if error.hint else error.reason
        return replace(inspection, fault=fault, words=error.log_tail)
    loaded = workloads[0] if workloads and contender.any_body else None
    served: dict[str, int] = {}
    served_most: dict[str, int] = {}
    try:
        used = lifecycle.usage(world, instance)
        if instance.process and instance.listens_itself is None:
            cautions.append(lifecycle.UNKNOWN_LISTENER)
        if declared_backlog is not None:
            listeners = world.server_host.listeners(instance.process, instance.port)
            backlog = backlog_reading(listeners, instance.port, instance.host, declared_backlog)
            if backlog.agrees is False:
                cautions.append(str(backlog))
        behavior = lifecycle.behavior_of(world, instance, contender.ready_s)
        if contender.any_body:
            wrong = answers_vary(world, instance)
        else:
            wrong = behavior.fault or _unknown_path_fault(behavior)
        for workload in workloads:
            wrong = wrong or lifecycle.fault_on(world, instance, workload)
            if instance.read_process and not contender.speaks_http2:
                wrong = wrong or growth_fault(
                    world.server_host,
                    instance.read_process,
                    instance.address,
                    workload,
                    contender.ready_s,
                )
        if (idle_share := _idle_share(world, instance)) > IDLE_SHARE_MAX:
            cautions.append(f"it needs {percent(idle_share, 0)} of a CPU while no request comes")
        for connections in levels if wrong is None else ():
            load = _serve(world, instance, connections, loaded)
            served[str(connections)] = min(load.counts)
            if max(load.counts) != min(load.counts):
                served_most[str(connections)] = max(load.counts)
            cautions += load.cautions
            if wrong := load.wrong:
                break
    finally:
        stopped_s = world.server_host.now_s()
        ended = lifecycle.stop(world, instance)
    took_s = world.server_host.now_s() - stopped_s
    stop = f"{ended.how} {took_s:.2f} s after {contender.stop_signal}"
    if ended.limit is not None and not any(ended.limit in caution for caution in cautions):
        cautions.append(ended.limit)
    if ended.killed:
        cautions.append(
            f"killed, because it had not ended {contender.stop_s:g} s after {contender.stop_signal}"
        )
    return replace(
        inspection,
        fault=wrong,
        ready_s=round(instance.ready_s, 3),
        idle_memory_bytes=used.memory_bytes if used is not None else None,
        behavior=behavior,
        served=served,
        served_most=served_most,
        cautions=tuple(cautions),
        stop=stop if instance.process else None,
        workloads=tuple(each.name for each in workloads) if wrong is None else (),
    )


def _idle_share(world: World, instance: Instance) -> float:
    """The CPU time that it needs without a request, as a share of a CPU; the least of some tries.

    On a busy machine its threads wait for a CPU instead: that time counts, too.
    """
    least, host = 1e9, world.server_host
    for _ in range(IDLE_TRIES):
        before, begun_s = _ready_s(world, instance), host.now_s()
        host.sleep(IDLE_S)
        after, ended_s = _ready_s(world, instance), host.now_s()
        least = min(least, (after - before) / (ended_s - begun_s))
        if least <= IDLE_SHARE_MAX:
            break
    return least


def _ready_s(world: World, instance: Instance) -> float:
    """How long its living threads ran, and waited for a CPU."""
    return sum(each.ran_s + each.waited_s for each in threads_of(world, instance))


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


@dataclass(frozen=True, slots=True)
class Served:
    """How many connections got an answer in each load, what was wrong, and what was noted.

    `wrong` is about answers, which have to be right however busy the machine is.
    """

    counts: list[int]
    cautions: tuple[str, ...] = ()
    wrong: str | None = None


def _serve(
    world: World, instance: Instance, connections: int, workload: Workload | None = None
) -> Served:
    """Load a server. If a short load does not serve all, three longer ones count instead.

    Of the short one, late answers are discarded, because it does not wait long. What else went
    wrong in it counts.
    """
    short, refusal = short_load(world, instance, connections, workload)
    errors = Counter[str]()
    results = [] if short is None else [short]
    if short is None or not is_complete(short, connections):
        try:
            results = [
                load_server(world, instance, connections, RETRY_S, workload) for _ in range(RETRIES)
            ]
        except DeadheatError as error:
            results = []
            refusal = str(error)
        if short is not None:
            errors.update({k: n for k, n in short.errors.items() if k not in LATE})
    for result in results:
        errors.update(result.errors)
    cautions = []
    counts = [result.connections_served or 0 for result in results] or [0]
    if results and min(counts) < connections:
        least, most = min(counts), max(counts)
        range_ = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        cautions.append(f"{range_} of {connections:,} connections served in {RETRY_S:g} s")
    elif not results:
        cautions.append(f"at {connections} connections: {refusal}")
    if errors.total():
        cautions.append(f"errors at {connections:,} connections: {_by_class(errors)}")
    wrong_answers = {name: errors[name] for name in WRONG_ANSWERS if errors[name]}
    if errors["unclosed"] >= connections:  # of fewer, a busy server closes late
        wrong_answers["unclosed"] = errors["unclosed"]
    if wrong_answers:
        wrong = f"wrong answers at {connections:,} connections: {_by_class(wrong_answers)}"
        return Served(counts, tuple(cautions), wrong)
    if (end := lifecycle.ended(world, instance)) is not None:
        return Served([0], (*cautions, f"it died at {connections} connections: {end.how}"))
    return Served(counts, tuple(cautions), _changed_answer(world, instance, connections))


def _by_class(errors: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in errors.items() if n)


def _changed_answer(world: World, instance: Instance, connections: int) -> str | None:
    """What is wrong with an answer after a load; None if it is right, or if there is none."""
    host, contender = world.server_host, instance.contender
    if contender.speaks_http2:
        fault = ready_fault(world, instance, contender.ready_s)
    else:
        payload = lifecycle.ready_payload(instance)
        response = ask_payload(host, instance.address, payload, contender.ready_s).first
        fault = None if response is None else lifecycle.answer_fault(contender, response)
    return None if fault is None else f"after a load at {connections:,} connections: {fault}"


def is_complete(result: LoadResult, connections: int) -> bool:
    """Whether all connections survived a load."""
    return (result.connections_served or 0) >= connections and not result.errors_total


def short_load(
    world: World, instance: Instance, connections: int, workload: Workload | None = None
) -> tuple[LoadResult | None, str]:
    """A load of `SERVE_S`, or why there is none."""
    try:
        return load_server(world, instance, connections, SERVE_S, workload), ""
    except DeadheatError as error:  # on a busy machine, the first request alone may take longer
        return None, str(error)


def load_server(
    world: World,
    instance: Instance,
    connections: int,
    duration_s: float,
    workload: Workload | None = None,
) -> LoadResult:
    """One load of our engine on an instance, with hello or `workload`.

    Raises `DeadheatError` if there is no result.
    """
    spec = LoadSpec(
        url=instance.url,
        connections=connections,
        duration_s=duration_s,
        timeout_s=duration_s,
        expect_body=None if instance.contender.any_body else BODY.decode(),
        workload=workload.for_engine() if workload else None,
        arguments=load_arguments(instance, Engine.name),
        http2_streams=1 if instance.contender.speaks_http2 else None,
    )
    return load_once(world, spec)
