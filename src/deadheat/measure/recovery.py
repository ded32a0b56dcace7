"""Recovery of a server after its load: when it is idle, and when it is fast again."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from deadheat import numbers
from deadheat.errors import DeadheatError
from deadheat.host import ProcessSpec, Sample
from deadheat.load import LoadSpec
from deadheat.measure import lifecycle
from deadheat.measure.lifecycle import Instance
from deadheat.measure.trial import SAMPLE_INTERVAL_S, TrialContext, load_spec
from deadheat.measure.world import World
from deadheat.protocol import Protocol, Recovery
from deadheat.store import TrialRecord

WINDOW_S = 1.0  # a server is idle or not over one window


@dataclass(frozen=True, slots=True)
class Burn:
    """CPU time used after the load ended, and whether the server became idle.

    `burnt_for_s` is the end of the last window that was not idle, in windows of `WINDOW_S`.
    """

    cpu_s: float
    burnt_for_s: float
    idle: bool
    samples: tuple[Sample, ...]


def recover(
    world: World,
    instance: Instance,
    protocol: Protocol,
    context: TrialContext,
    first_rate_per_s: float,
) -> TrialRecord:
    """Watch until the server is idle, then probe until it reaches its first trial's rate again.

    The record is in state `failed` if the server dies or exceeds the protocol's limit. Its
    `result` has `cpu_burnt_s`, `burnt_for_s`, `idle` and `recovered_after_s`, the start of the
    probe that reached the rate. That is an upper bound, because probes start after the watch.
    """
    rule = protocol.recovery or Recovery()
    host = world.server_host
    ended_s = host.now_s()
    burn = watch_burn(world, instance, rule)
    spec = replace(load_spec(protocol, instance, protocol.connections[0]), duration_s=rule.probe_s)
    target_per_s = rule.rate_share * first_rate_per_s
    rates_per_s: list[float] = []
    recovered_after_s: float | None = None
    failed = ""  # in the last probe
    while _is_running(world, instance):
        begun_s = host.now_s()
        rate_per_s, failed = _probe(world, spec)
        rates_per_s.append(rate_per_s)
        if target_per_s > 0 and rates_per_s[-1] >= target_per_s:
            recovered_after_s = begun_s - ended_s
            break
        if host.now_s() - ended_s >= rule.limit_s:  # after at least one probe
            break
        host.sleep(WINDOW_S)
    return TrialRecord.at(
        context,
        connections=spec.connections,
        command=world.generator.command(spec),
        state="failed" if recovered_after_s is None else "ok",
        reason=None if recovered_after_s is not None else _failure(world, instance, rule, failed),
        rate_per_s=rates_per_s[-1] if rates_per_s else None,
        elapsed_s=host.now_s() - ended_s,
        result=_result(burn, recovered_after_s, rates_per_s),
        series={"machine": [asdict(sample) for sample in burn.samples]},
    )


def watch_burn(world: World, instance: Instance, rule: Recovery) -> Burn:
    """Sample the server's CPU time in windows, until one is idle or the watch ends."""
    host = world.server_host
    begun_s = host.now_s()
    used_s = first_s = host.usage(instance.process).cpu_s
    burnt_for_s = 0.0
    idle = False
    watch = host.watch([instance.process], SAMPLE_INTERVAL_S)
    while not idle and _is_running(world, instance) and host.now_s() - begun_s < rule.watch_s:
        window_s = host.now_s()
        host.sleep(WINDOW_S)
        now_used_s = host.usage(instance.process).cpu_s
        idle = (now_used_s - used_s) / (host.now_s() - window_s) <= rule.idle_cpus
        if not idle:
            burnt_for_s = host.now_s() - begun_s
        used_s = now_used_s
    return Burn(used_s - first_s, burnt_for_s, idle, tuple(host.unwatch(watch)))


def _probe(world: World, spec: LoadSpec) -> tuple[float, str]:
    """Requests/s of one short load, and what failed in it; 0 if it gave no result."""
    command = world.generator.command(spec)
    try:
        completed = world.load.host.run(ProcessSpec(command, cpus=world.load.cpus), spec.limit_s)
        result = world.generator.parse(spec, completed, world.generator_version)
    except DeadheatError as error:
        return 0.0, str(error)
    return result.rate_per_s, result.errors_text


def _is_running(world: World, instance: Instance) -> bool:
    return lifecycle.ended(world, instance) is None


def _failure(world: World, instance: Instance, rule: Recovery, failed: str) -> str:
    if (ended := lifecycle.ended(world, instance)) is not None:
        return f"it died ({ended.how})"
    in_probe = f"; in the last probe: {failed}" if failed else ""
    return (
        f"it did not reach {numbers.percent(rule.rate_share, 0)} of its first trial's rate again "
        f"within {rule.limit_s:g} s{in_probe}"
    )


def _result(
    burn: Burn, recovered_after_s: float | None, rates_per_s: list[float]
) -> dict[str, Any]:
    return {
        "cpu_burnt_s": burn.cpu_s,
        "burnt_for_s": burn.burnt_for_s,
        "idle": burn.idle,
        "recovered_after_s": recovered_after_s,
        "probe_rates_per_s": rates_per_s,
    }
