"""One trial: load one instance at one level, and record everything that it showed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from deadheat.errors import DeadheatError
from deadheat.host import ENDS_ONLY_S, Completed, Exited, ProcessSpec, Sample, Usage
from deadheat.load import Engine, LoadResult, LoadSpec
from deadheat.measure import lifecycle
from deadheat.measure.contender import Contender, Instance
from deadheat.measure.database import DatabaseTime
from deadheat.measure.gates.evidence import LOAD, Evidence, increases
from deadheat.measure.gates.judge import judge, judge_load_host, steady_gate, worst_of
from deadheat.measure.lifecycle import Workers, log_tail
from deadheat.measure.load_process import first_command, load_once
from deadheat.measure.verify import BODY
from deadheat.measure.world import LoadSide, World
from deadheat.protocol import AloneProtocol, Protocol, SliceProtocol
from deadheat.store import Gate, TrialPlace, TrialRecord
from deadheat.store.slices import StoredSlice
from deadheat.strict import JsonObject
from deadheat.workload import Workload

SAMPLE_INTERVAL_S = 0.2  # some lie inside the shortest slice
BODY_UNREAD = {"engine": ("--any-body",), "ab": ("-l",)}
OF_USAGE = (  # the figure of `PerRequest`, the field of `Usage`, and the factor between them
    ("user_us", "user_s", 1e6),
    ("system_us", "system_s", 1e6),
    ("voluntary_switches", "voluntary_switches", 1),
    ("involuntary_switches", "involuntary_switches", 1),
    ("page_faults", "page_faults", 1),
)
KEPT_APART = ("series", "histograms", "errors", "rate_per_s", "requests_ok", "elapsed_s")


class LoadWatch:
    """What the load hosts show during one trial, if they are other machines. It begins now.

    `by_host` has the samples of each at both ends of the trial; none on one machine.
    """

    def __init__(self, world: World) -> None:
        sides = () if world.beside else world.loads
        self._watches = [(side, side.host.watch([], ENDS_ONLY_S)) for side in sides]
        self.by_host: Sequence[tuple[LoadSide, Sequence[Sample]]] = ()

    def end(self) -> Self:
        self.by_host = [(side, side.host.unwatch(watch)) for side, watch in self._watches]
        return self

    def network(self) -> Counter[str]:
        """The increase of each network counter, summed over the load hosts."""
        total = Counter[str]()
        for _, samples in self.by_host:
            total.update(increases(samples, LOAD))
        return total

    def gates(self, spec: LoadSpec, result: LoadResult, generator: Completed) -> list[Gate]:
        """The machine's gates of each load host. How much each of several used is not known."""
        is_only_one = len(self.by_host) == 1
        return [
            gate
            for side, samples in self.by_host
            for gate in judge_load_host(
                Evidence(spec, result, generator, samples, side.cpus, loads_only=True), is_only_one
            )
        ]


@dataclass(frozen=True, slots=True)
class TrialContext(TrialPlace):
    """Where in a run a trial stands."""

    steady: str  # how the server's steady state was found: `Warmed.kind`
    witness_per_s: float | None = None  # its rate without slices, at the end of its warm-up


def load_spec(
    protocol: Protocol,
    instance: Instance,
    connections: int,
    workload: str | None = None,
    rate_per_s: float | None = None,
) -> LoadSpec:
    """A protocol's load at one level, closed loop unless a rate is offered; of its first workload
    unless one is named.
    """
    sent = workload_of(protocol, instance.contender, workload)
    keep_alive = protocol.keep_alive and not (sent and sent.close)
    streams = protocol.streams if keep_alive else 1
    alone = protocol if isinstance(protocol, AloneProtocol) else None
    return LoadSpec(
        url=instance.url,
        connections=connections,
        duration_s=round(protocol.duration_s, 3),
        threads=protocol.threads,
        rate_per_s=rate_per_s,
        discard_s=0.0 if isinstance(protocol, SliceProtocol) else protocol.discard_s,
        timeout_s=protocol.timeout_s,
        keep_alive=keep_alive,
        request_cap=alone.request_cap if alone else None,
        expect_body=None if sent or instance.contender.any_body else BODY.decode(),
        workload=sent.for_engine() if sent else None,
        arguments=(
            *(alone.arguments if alone else ()),
            *load_arguments(instance, protocol.generator),
        ),
        http2_streams=streams if instance.contender.speaks_http2 else None,
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


def load_arguments(instance: Instance, generator: str) -> tuple[str, ...]:
    """The arguments with which a generator leaves bodies unread, where they vary, and trusts.

    wrk reads no body, and wrk and ab trust every certificate.
    """
    unread = BODY_UNREAD.get(generator, ()) if instance.contender.body_varies else ()
    return (*unread, *(instance.trust if generator == Engine.name else ()))


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
    command = first_command(world, spec) if len(world.loads) > 1 else world.generator.command(spec)
    database = DatabaseTime.begin(world.database, spec)
    before = lifecycle.usage(world, instance)
    if workers is not None:
        workers.begin()
    watched = [instance.read_process] if instance.read_process else []
    if database.database is not None and database.database.process is not None:
        watched.append(database.database.process)
    watch = host.watch(watched, SAMPLE_INTERVAL_S)
    on_loads = LoadWatch(world)
    done: Completed | None = None
    fault: str | None = None
    result: LoadResult | None = None
    try:
        if len(world.loads) > 1:
            result = load_once(world, spec)
            done = Completed(0, "", "", result.elapsed_s, result.client_cpu_s or 0.0)
        else:
            done = world.load.host.run(ProcessSpec(command, cpus=world.load.cpus), spec.limit_s)
            result = world.generator.parse(spec, done, world.generator_version)
    except DeadheatError as error:
        fault = f"{error} ({error.hint})" if error.hint else str(error)
    samples = host.unwatch(watch)
    on_loads.end()
    workers_gone = workers.end() if workers is not None else None
    after = lifecycle.usage(world, instance)
    database_s = database.used_s()
    fault = database.fault() or fault
    if (ended := lifecycle.ended(world, instance)) is not None:
        fault = death(world, instance, ended)
    if done is not None and done.exit_code is None:
        fault = f"{world.generator.name} did not end within {spec.limit_s:.0f} s"
    if done is not None and done.limit is not None:
        fault = f"{world.generator.name} was stopped: {done.limit}"
    gates: list[Gate] = []
    clock_khz: Sequence[int] = ()
    if done and result and not fault:
        evidence = replace(
            Evidence.of(world, instance, spec, result, done, samples),
            ceiling_per_s=ceiling_per_s,
            clock_khz_max=clock_khz_max,
            workers_gone=workers_gone,
        )
        clock_khz = evidence.clock_khz
        gates = worst_of([*judge(evidence), *on_loads.gates(spec, result, done)])
    return trial_record(
        context,
        spec,
        command,
        result,
        fault,
        (before, after),
        figures={**database_figures(database_s, result), **link_figures(samples, on_loads)},
        series={
            "machine": [asdict(sample) for sample in samples],
            "load": list(result.series) if result else [],
            "clock_khz": list(clock_khz),
        },
        gates=gates,
        output=done,
    )


def trial_record(
    context: TrialContext,
    spec: LoadSpec,
    command: Sequence[str],
    result: LoadResult | None,
    fault: str | None,
    usage: tuple[Usage | None, Usage | None],
    *,
    figures: JsonObject,
    series: Mapping[str, list[Any]],
    slices: Sequence[StoredSlice] = (),
    gates: Sequence[Gate],
    output: Completed | None = None,
) -> TrialRecord:
    """A trial as it is stored: of one load, or of the slices of a block.

    `usage` is that of the server before and after; `figures` are stored beside those of `result`.
    """
    before, after = usage
    steady = steady_gate(context.steady) if result is not None and fault is None else None
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
        server_cpu_us_per_request=us_per_request(
            after.cpu_s - before.cpu_s if before and after else None, result
        ),
        memory_peak_bytes=after.memory_peak_bytes or None if after else None,  # 0 of the dead
        processes=after.processes if after else None,
        threads=after.threads if after else None,
        result={**other_figures(result), **figures, **per_request_figures(usage, result)},
        stdout=output.stdout if output else "",
        stderr=output.stderr if output else "",
        histograms=result.histograms if result else {},
        series={name: rows for name, rows in series.items() if rows},
        slices=slices,
        errors=result.errors if result else {},
        gates=[*gates, steady] if steady else gates,
    )


def death(world: World, instance: Instance, ended: Exited) -> str:
    """That an instance died under load, with the last lines of its log."""
    words = log_tail(world, instance).strip().splitlines()[-5:]
    return "\n".join([f"{instance.contender.name} died under load ({ended.how})", *words])


def us_per_request(cpu_s: float | None, result: LoadResult | None) -> float | None:
    """CPU time over every request that was answered, the discarded ones included."""
    if cpu_s is None or result is None:
        return None
    answered = result.requests_sent_in_all or result.requests_ok
    return cpu_s * 1e6 / answered if answered else None


def per_request_figures(
    usage: tuple[Usage | None, Usage | None], result: LoadResult | None
) -> JsonObject:
    """`PerRequest` as it is stored, without what is unknown; nothing if all of it is.

    CPU time, switches, page faults and packets are of all requests sent. Bytes are of those that
    were measured, and unknown where some failed.
    """
    if result is None:
        return {}
    before, after = usage
    figures: dict[str, float | None] = {}
    sent = result.requests_sent_in_all or result.requests_ok
    if before is not None and after is not None:
        for name, source, factor in OF_USAGE:
            first, last = getattr(before, source), getattr(after, source)
            if first is not None and last is not None and last >= first:
                figures[name] = factor * (last - first) / sent if sent else None
    for name in ("packets_in", "data_packets_in", "packets_out"):
        packets = getattr(result, name)
        figures[name] = packets / sent if sent and packets is not None else None
    if result.bytes_out is not None and result.requests_ok and not result.errors_total:
        figures["bytes_in"] = (result.bytes_in or 0) / result.requests_ok
        figures["bytes_out"] = result.bytes_out / result.requests_ok
    known = {name: round(value, 6) for name, value in figures.items() if value is not None}
    return {"per_request": known} if known else {}


def database_figures(cpu_s: float | None, result: LoadResult | None) -> JsonObject:
    """The database's CPU over every request, beside the server's own; nothing without one."""
    us = us_per_request(cpu_s, result)
    return {} if us is None else {"database_cpu_us_per_request": us}


def other_figures(result: LoadResult | None) -> JsonObject:
    """What a result holds beside the columns and tables of a trial."""
    if result is None:
        return {}
    figures = {k: v for k, v in asdict(result).items() if k not in KEPT_APART}
    if result.skew_us is None:
        del figures["skew_us"]  # of several load hosts alone
    return figures


def link_figures(samples: Sequence[Sample], on_loads: LoadWatch) -> JsonObject:
    """The increase of the network counters of all hosts; those of load hosts are marked."""
    if not on_loads.by_host:
        return {}
    return {"network": {**increases(samples), **on_loads.network()}}
