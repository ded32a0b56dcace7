"""Recovery: what a server still does once its load is over, and when it is as fast as at first."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from deadheat.errors import DeadheatError
from deadheat.host import ProcessSpec, Sample
from deadheat.load import LoadSpec
from deadheat.measure import lifecycle
from deadheat.measure.lifecycle import Instance
from deadheat.measure.trial import SAMPLE_INTERVAL_S, TrialContext, load_spec
from deadheat.measure.world import World
from deadheat.protocol import Protocol, Recovery
from deadheat.store import TrialRecord

WINDOW_S = 1.0  # over which a server is idle or not


@dataclass(frozen=True, slots=True)
class Burn:
    """CPU used after the load had ended: how much, until when, and whether it came to an end.

    `burnt_for_s` is the end of the last window that was not idle; windows are `WINDOW_S` long.
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
    """Watch until it idles, then probe until it serves its first trial's rate again.

    The record is in state `failed` where it does not within the protocol's limit, or died. Its
    `result` holds `cpu_burnt_s`, `burnt_for_s`, `idle` and `recovered_after_s`, which is when the
    probe that reached the rate began, so an upper bound: nothing is probed while it still burns.
    """
    rule = protocol.recovery or Recovery()
    host = world.server_host
    ended_s = host.now_s()
    burn = watch_burn(world, instance, rule)
    spec = replace(load_spec(protocol, instance, protocol.connections[0]), duration_s=rule.probe_s)
    target_per_s = rule.rate_share * first_rate_per_s
    rates_per_s: list[float] = []
    recovered_after_s: float | None = None
    while _lives(world, instance):
        begun_s = host.now_s()
        rates_per_s.append(_probe(world, spec))
        if target_per_s > 0 and rates_per_s[-1] >= target_per_s:
            recovered_after_s = begun_s - ended_s
            break
        if host.now_s() - ended_s >= rule.limit_s:  # one probe at least, however long it burnt
            break
        host.sleep(WINDOW_S)
    return TrialRecord.at(
        context,
        connections=spec.connections,
        command=world.generator.command(spec),
        state="failed" if recovered_after_s is None else "ok",
        reason=None if recovered_after_s is not None else _why(world, instance, rule),
        rate_per_s=rates_per_s[-1] if rates_per_s else None,
        elapsed_s=host.now_s() - ended_s,
        result=_result(burn, recovered_after_s, rates_per_s),
        series={"machine": [asdict(sample) for sample in burn.samples]},
    )


def watch_burn(world: World, instance: Instance, rule: Recovery) -> Burn:
    """Sample the server's CPU in windows until one is idle, or the watch is over."""
    host = world.server_host
    begun_s = host.now_s()
    used_s = first_s = host.usage(instance.process).cpu_s
    burnt_for_s = 0.0
    idle = False
    watch = host.watch([instance.process], SAMPLE_INTERVAL_S)
    while not idle and _lives(world, instance) and host.now_s() - begun_s < rule.watch_s:
        window_s = host.now_s()
        host.sleep(WINDOW_S)
        now_used_s = host.usage(instance.process).cpu_s
        idle = (now_used_s - used_s) / (host.now_s() - window_s) <= rule.idle_cpus
        if not idle:
            burnt_for_s = host.now_s() - begun_s
        used_s = now_used_s
    return Burn(used_s - first_s, burnt_for_s, idle, tuple(host.unwatch(watch)))


def _probe(world: World, spec: LoadSpec) -> float:
    """Requests/s of one short load; 0 where it gave no result."""
    command = world.generator.command(spec)
    try:
        done = world.load_host.run(ProcessSpec(command, cpus=world.load_cpus), spec.limit_s)
        return world.generator.parse(spec, done, world.generator_version).rate_per_s
    except DeadheatError:
        return 0.0


def _lives(world: World, instance: Instance) -> bool:
    return lifecycle.ended(world, instance) is None


def _why(world: World, instance: Instance, rule: Recovery) -> str:
    if (ended := lifecycle.ended(world, instance)) is not None:
        return f"it died ({ended.how})"
    return (
        f"it did not serve {rule.rate_share:.0%} of its first trial's rate again "
        f"within {rule.limit_s:g} s"
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
