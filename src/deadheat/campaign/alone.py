"""Alone: starts, loads and stops one contender after the other, as published comparisons did.

Each contender runs at another time, so trials are not paired and ratios have no interval. Where a
protocol asks for it, each trial is followed by the recovery of its server: when it is idle, and
when it is fast again.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace

from deadheat import numbers
from deadheat.campaign.run import RunContext
from deadheat.campaign.schedule import Step, steps_left
from deadheat.campaign.trials import TrialRunner
from deadheat.errors import DeadheatError
from deadheat.events import Event, Progress
from deadheat.host import ProcessSpec, Sample
from deadheat.load import LoadSpec
from deadheat.measure import lifecycle
from deadheat.measure.contender import Instance
from deadheat.measure.starter import Starter, Unfit
from deadheat.measure.trial import SAMPLE_INTERVAL_S, TrialContext, load_spec
from deadheat.measure.warm_up import EnteredContender, WarmInstance
from deadheat.measure.world import World
from deadheat.protocol import AloneProtocol, Protocol, Recovery
from deadheat.store import TrialRecord
from deadheat.strict import JsonObject


class Alone:
    """Runs the trials of a protocol contender by contender, and stores each as it ends."""

    def __init__(self, run: RunContext[AloneProtocol], labels: Mapping[str, str]) -> None:
        self._run = run
        self._world = run.world
        self._protocol = run.protocol
        self._past = run.past
        self._entered = _in_order(run.entered_contenders, run.protocol, run.seed)
        self._labels = labels
        self._starter = Starter(run.world, run.protocol, run.store, run.listen)
        self._trials = TrialRunner(run)
        self._trials_done = len(run.past.measured)
        self._trials_planned = self._trials_done + sum(
            len(list(self._steps_left(entered))) for entered in self._entered
        )

    def run(self) -> None:
        """Measure every contender. An interrupt loses no trial that has ended."""
        for entered in self._entered:
            self._series(entered)

    def _series(self, entered: EnteredContender) -> None:
        """All trials of one contender. If it dies, it is restarted for its next trial."""
        warm: WarmInstance | None = None
        starts = self._past.starts.get(entered.contender.name, 0)
        rates_per_s: list[float] = []
        try:
            for step in self._steps_left(entered):
                if warm is not None and (
                    step.starts or not _is_running(self._world, warm.instance)
                ):
                    self._starter.stop(warm)
                    warm = None
                if warm is None:
                    starts += 1
                    warm = self._starter.start(entered, starts, self._run.now_s())
                    lifecycle.thaw(self._world, warm.instance)
                record = self._trial(warm, step)
                rates_per_s.append(record.rate_per_s or 0.0)
                if self._protocol.recovery and not self._recovers(warm, step, rates_per_s[0]):
                    return
        except Unfit:  # it was reported, and the store has its fault
            return
        finally:
            if warm is not None:
                self._starter.stop(warm)

    def _steps_left(self, entered: EnteredContender) -> Iterator[Step]:
        return steps_left(self._protocol, self._labels, entered.contender.name, self._past)

    def _trial(self, warm: WarmInstance, step: Step) -> TrialRecord:
        self._report_progress(warm.name, step)
        spec = load_spec(self._protocol, warm.instance, step.connections)
        record = self._trials.measure(warm, spec, self._context(warm, step, "measure"))
        self._trials.ceilings.note(warm.name, record)
        self._trials_done += 1
        if record.state == "failed":
            failure = f"{warm.name} at {record.connections}: {record.reason}"
            self._run.listen(Event(failure, trouble=True))
        return record

    def _recovers(self, warm: WarmInstance, step: Step, rate_per_s: float) -> bool:
        """Whether it reaches its first trial's rate again; stores the recovery."""
        self._run.listen(Progress(f"{warm.name}: recovering from trial {step.repetition}"))
        record = recover(
            self._world,
            warm.instance,
            self._protocol,
            self._context(warm, step, "recovery"),
            rate_per_s,
        )
        self._run.store.add_trial(record)
        if record.state == "failed":
            failure = f"{warm.name} ends its series after trial {step.repetition}: {record.reason}"
            self._run.listen(Event(failure, trouble=True))
        return record.state == "ok"

    def _context(self, warm: WarmInstance, step: Step, kind: str) -> TrialContext:
        """The block is the repetition; processes are no invocations, because the page had none."""
        workload = self._protocol.workload_names[0]
        return replace(self._run.trial_context(warm, workload, kind, step.repetition), invocation=1)

    def _report_progress(self, name: str, step: Step) -> None:
        left = self._trials_planned - self._trials_done
        left_s = left * self._run.now_s() / self._trials_done if self._trials_done else None
        what = f"{name}: repetition {step.repetition} at {step.connections}"
        self._run.listen(
            Progress(what, done=self._trials_done, of=self._trials_planned, left_s=left_s)
        )


def _in_order(
    entered_contenders: Sequence[EnteredContender], protocol: AloneProtocol, seed: int
) -> list[EnteredContender]:
    """The null server first, because its rate is the ceiling of all others.

    In a random order, the place of a contender depends only on its name and the seed, so a resumed
    run keeps the order.
    """
    contenders = [
        entered for entered in entered_contenders if entered.contender.role == "contender"
    ]
    if protocol.order == "random":
        contenders.sort(key=lambda e: random.Random(f"{seed} {e.contender.name}").random())
    return [*(e for e in entered_contenders if e.contender.is_null_server), *contenders]


WINDOW_S = 1.0  # a server is idle or not over one window


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
    burnt, samples = watch_burn(world, instance, rule)
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
        result={
            **burnt,
            "recovered_after_s": recovered_after_s,
            "probe_rates_per_s": rates_per_s,
        },
        series={"machine": [asdict(sample) for sample in samples]},
    )


def watch_burn(
    world: World, instance: Instance, rule: Recovery
) -> tuple[JsonObject, Sequence[Sample]]:
    """Sample the server's CPU time in windows of `WINDOW_S`, until one is idle or the watch ends.

    The result has the CPU time used after the load ended, the end of the last window that was not
    idle, and whether the server became idle.
    """
    host = world.server_host
    begun_s = host.now_s()
    used_s = first_s = host.cpu_s(instance.process)
    burnt_for_s = 0.0
    idle = False
    watch = host.watch([instance.process], SAMPLE_INTERVAL_S)
    while not idle and _is_running(world, instance) and host.now_s() - begun_s < rule.watch_s:
        window_s = host.now_s()
        host.sleep(WINDOW_S)
        now_used_s = host.cpu_s(instance.process)
        idle = (now_used_s - used_s) / (host.now_s() - window_s) <= rule.idle_cpus
        if not idle:
            burnt_for_s = host.now_s() - begun_s
        used_s = now_used_s
    burnt = {"cpu_burnt_s": used_s - first_s, "burnt_for_s": burnt_for_s, "idle": idle}
    return burnt, host.unwatch(watch)


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
