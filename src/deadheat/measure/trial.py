"""One trial: load one instance at one level, and record everything that it showed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from deadheat.errors import DeadheatError
from deadheat.host import Completed, Exited, ProcessSpec, Sample, Usage
from deadheat.load import LoadResult, LoadSpec
from deadheat.measure import lifecycle
from deadheat.measure.contender import Contender
from deadheat.measure.database_time import begin_or_fault
from deadheat.measure.gates.evidence import Evidence
from deadheat.measure.gates.judge import judge, steady_gate, worst_of
from deadheat.measure.lifecycle import Instance, log_tail
from deadheat.measure.load_process import first_command, load_once
from deadheat.measure.load_watch import LoadReadings, LoadWatch
from deadheat.measure.network_counters import increases
from deadheat.measure.verify import BODY
from deadheat.measure.workers import Workers
from deadheat.measure.world import World
from deadheat.protocol import AloneProtocol, Protocol, SliceProtocol
from deadheat.store import Gate, TrialPlace, TrialRecord
from deadheat.workload import Workload

SAMPLE_INTERVAL_S = 0.2  # some lie inside the shortest slice
BODY_UNREAD = {"engine": ("--any-body",), "ab": ("-l",)}
KEPT_APART = ("series", "histograms", "errors", "rate_per_s", "requests_ok", "elapsed_s")


@dataclass(frozen=True, slots=True)
class TrialContext(TrialPlace):
    """Where in a run a trial stands."""

    steady: str  # how the server's steady state was found: `Warmed.kind`
    witness_per_s: float | None = None  # its rate without slices, at the end of its warm-up


def load_spec(
    protocol: Protocol, instance: Instance, connections: int, workload: str | None = None
) -> LoadSpec:
    """A protocol's load at one level, closed loop; of its first workload unless one is named."""
    sent = workload_of(protocol, instance.contender, workload)
    alone = protocol if isinstance(protocol, AloneProtocol) else None
    return LoadSpec(
        url=instance.url,
        connections=connections,
        duration_s=round(protocol.duration_s, 3),
        threads=protocol.threads,
        discard_s=0.0 if isinstance(protocol, SliceProtocol) else protocol.discard_s,
        timeout_s=protocol.timeout_s,
        keep_alive=protocol.keep_alive,
        request_cap=alone.request_cap if alone else None,
        expect_body=None if sent or instance.contender.any_body else BODY.decode(),
        workload=sent.for_engine() if sent else None,
        arguments=(
            *(alone.arguments if alone else ()),
            *unread(instance.contender, protocol.generator),
        ),
    )


def workload_of(
    protocol: Protocol, contender: Contender, name: str | None = None
) -> Workload | None:
    """What a contender is loaded with in a workload, the protocol's first one if none is named.

    None for hello, which every control gets.

    The controls show what the machine does, so their load is the same in every run.
    """
    if contender.role == "control":
        return None
    return protocol.workload_named(name or protocol.workload_names[0])


def unread(contender: Contender, generator: str) -> tuple[str, ...]:
    """The arguments with which a generator leaves the bodies unread; wrk reads none."""
    return BODY_UNREAD.get(generator, ()) if contender.body_varies else ()


def measure(
    world: World,
    instance: Instance,
    spec: LoadSpec,
    context: TrialContext,
    ceiling_per_s: float | None = None,
    clock_khz_max: float | None = None,
    workers: Workers | None = None,
) -> TrialRecord:
    """Run one load against a thawed instance. A failed trial is a record too."""
    host = world.server_host
    command = first_command(world, spec) if world.more_loads else world.generator.command(spec)
    database, database_fault = begin_or_fault(world, spec)
    before = lifecycle.usage(world, instance)
    if workers is not None:
        workers.begin()
    watched = [instance.process] if instance.process else []
    if database.database is not None and database.database.process is not None:
        watched.append(database.database.process)
    watch = host.watch(watched, SAMPLE_INTERVAL_S)
    load_watch = LoadWatch(world)
    done: Completed | None = None
    fault: str | None = None
    result: LoadResult | None = None
    try:
        if world.more_loads:
            result = load_once(world, spec)
            done = Completed(0, "", "", result.elapsed_s, result.client_cpu_s or 0.0)
        else:
            done = world.load_host.run(ProcessSpec(command, cpus=world.load_cpus), spec.limit_s)
            result = world.generator.parse(spec, done, world.generator_version)
    except DeadheatError as error:
        fault = f"{error} ({error.hint})" if error.hint else str(error)
    samples = host.unwatch(watch)
    on_loads = load_watch.end()
    workers_gone = workers.end() if workers is not None else None
    after = lifecycle.usage(world, instance)
    database_s = database.used_s()
    fault = database_fault or database.fault() or fault
    if (ended := lifecycle.ended(world, instance)) is not None:
        fault = death(world, instance, ended)
    if done is not None and done.exit_code is None:
        fault = f"{world.generator.name} did not end within {spec.limit_s:.0f} s"
    if done is not None and done.limit is not None:
        fault = f"{world.generator.name} was stopped: {done.limit}"
    gates: list[Gate] = []
    clock_khz: Sequence[int] = ()
    if done and result and not fault:
        evidence = Evidence.of(
            world,
            instance.contender,
            spec,
            result,
            done,
            samples,
            ceiling_per_s,
            clock_khz_max,
            workers_gone,
        )
        clock_khz = evidence.clock_khz
        gates = worst_of([*judge(evidence), *on_loads.gates(spec, result, done)])
        if (steady := steady_gate(context.steady)) is not None:
            gates.append(steady)
    return TrialRecord.at(
        context,
        connections=spec.connections,
        command=command,
        offered_rate_per_s=spec.rate_per_s,
        state="failed" if fault else "ok",
        reason=fault,
        rate_per_s=result.rate_per_s if result else None,
        requests_ok=result.requests_ok if result else None,
        elapsed_s=result.elapsed_s if result else None,
        server_cpu_us_per_request=cpu_us_per_request(before, after, result),
        memory_peak_bytes=after.memory_peak_bytes or None if after else None,  # 0 of the dead
        processes=after.processes if after else None,
        threads=after.threads if after else None,
        result=other_figures(result)
        | database_figures(database_s, result)
        | link_figures(samples, on_loads),
        stdout=done.stdout if done else "",
        stderr=done.stderr if done else "",
        histograms=result.histograms if result else {},
        series=_series(result, samples, clock_khz),
        errors=result.errors if result else {},
        gates=gates,
    )


def death(world: World, instance: Instance, ended: Exited) -> str:
    """That an instance died under load, with the last lines of its log."""
    words = log_tail(world, instance).strip().splitlines()[-5:]
    return "\n".join([f"{instance.contender.name} died under load ({ended.how})", *words])


def cpu_us_per_request(
    before: Usage | None, after: Usage | None, result: LoadResult | None
) -> float | None:
    """Server CPU over every request it answered, the discarded ones included."""
    if result is None or before is None or after is None:
        return None
    answered = result.requests_sent_in_all or result.requests_ok
    return (after.cpu_s - before.cpu_s) * 1e6 / answered if answered else None


def database_figures(cpu_s: float | None, result: LoadResult | None) -> dict[str, Any]:
    """The database's CPU over every request, beside the server's own; nothing without one."""
    if cpu_s is None or result is None:
        return {}
    answered = result.requests_sent_in_all or result.requests_ok
    return {"database_cpu_us_per_request": cpu_s * 1e6 / answered} if answered else {}


def other_figures(result: LoadResult | None) -> dict[str, Any]:
    """What a result holds beside the columns and tables of a trial."""
    if result is None:
        return {}
    figures = {k: v for k, v in asdict(result).items() if k not in KEPT_APART}
    if result.skew_us is None:
        del figures["skew_us"]  # of several load hosts alone
    return figures


def link_figures(samples: Sequence[Sample], on_loads: LoadReadings) -> dict[str, Any]:
    """The increase of the network counters of all hosts; those of load hosts are marked."""
    if not on_loads.by_host:
        return {}
    return {"network": {**increases(samples), **on_loads.network()}}


def _series(
    result: LoadResult | None, samples: Sequence[Sample], clock_khz: Sequence[int]
) -> dict[str, list[Any]]:
    series: dict[str, list[Any]] = {
        "machine": [asdict(sample) for sample in samples],
        "load": list(result.series) if result else [],
        "clock_khz": list(clock_khz),
    }
    return {name: rows for name, rows in series.items() if rows}
