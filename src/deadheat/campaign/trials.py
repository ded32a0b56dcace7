"""Whole trials, each one load on a thawed instance: those of servers alone, and two of a race.

Half load: does a server use CPU time while it waits? A server that spins looks saturated at any
load. At half of its rate it uses more CPU time per request than at full load; other servers use
about as much. But a JVM may compile code anew for the new load, and use CPU time for that: so the
load has a beginning that does not count, and a server that seems to spin is loaded again after a
later block.

Latency at fixed offered rates: open loop, at shares of each contender's own rate. Latency from the
intended send time means something only below saturation.
"""

import itertools
import random
import statistics
from collections import defaultdict
from dataclasses import replace

from deadheat import numbers
from deadheat.campaign.failures import Troubles
from deadheat.campaign.heat import Heat
from deadheat.campaign.past import level_of
from deadheat.campaign.run import RaceContext, RunContext
from deadheat.campaign.schedule import START_S
from deadheat.campaign.standings import Standings
from deadheat.events import Event, Progress
from deadheat.load import LoadSpec
from deadheat.measure import lifecycle
from deadheat.measure.contender import NULL_SERVER
from deadheat.measure.gates.judge import CLIENT_SHARE_MAX
from deadheat.measure.gates.pooled import is_valid, spins
from deadheat.measure.starter import Starter
from deadheat.measure.trial import TrialContext, load_spec, measure
from deadheat.measure.warm_up import WarmInstance
from deadheat.protocol import Protocol
from deadheat.store import TrialRecord
from deadheat.workload import Level, parts_of

HALF_LOAD = "half_load"  # the kind of its trials
HALF_LOADS_MAX = 3  # of a contender that seems to spin
HALF_LOAD_S = 0.5
HALF_LOAD_DISCARD_S = 1.0
LATENCY_SHARES = (0.5, 0.7, 0.9)
RATE_KIND = "latency_rate"  # of trials that find a rate that the race did not
RATE_TRIALS, RATE_S = 5, 2.0


class Ceilings:
    """What the trials so far say of the machine: the client's rate, and the clocks of CPUs."""

    def __init__(self) -> None:
        self._rates_per_s: defaultdict[Level, list[float]] = defaultdict(list)
        self._clocks_khz: dict[tuple[str, Level], float] = {}

    def note(self, name: str, record: TrialRecord) -> None:
        """Take in a trial of a contender or control."""
        if record.state != "ok" or not record.rate_per_s:
            return
        level = level_of(record)
        if clock_khz := record.series.get("clock_khz"):
            highest_khz = self._clocks_khz.get((name, level), 0.0)
            self._clocks_khz[name, level] = max(highest_khz, statistics.median(clock_khz))
        if parts_of(name)[0] == NULL_SERVER:
            self.set(level, record.rate_per_s)

    def set(self, level: Level, rate_per_s: float) -> None:
        """What the client reached against the null server."""
        self._rates_per_s[level].append(rate_per_s)

    def per_s(self, level: Level) -> float | None:
        """The median of what the client reached against the null server at this level."""
        rates_per_s = self._rates_per_s.get(level)
        return statistics.median(rates_per_s) if rates_per_s else None

    def clock_khz_max(self, name: str, level: Level) -> float | None:
        """The highest clock of a contender's CPUs at this level: the highest median of a trial."""
        return self._clocks_khz.get((name, level))


class TrialRunner:
    """Runs trials of a run, each judged beside the earlier ones, and stores them."""

    def __init__(self, run: RunContext[Protocol]) -> None:
        self._run = run
        self._troubles = Troubles(run.listen)
        self.ceilings = Ceilings()
        for name, record in run.past.measured:
            self.ceilings.note(name, record)

    def measure(self, instance: WarmInstance, spec: LoadSpec, context: TrialContext) -> TrialRecord:
        """Load a thawed instance."""
        level = Level(context.workload, spec.connections)
        record = measure(
            self._run.world,
            instance.instance,
            spec,
            context,
            self.ceilings.per_s(level),
            self.ceilings.clock_khz_max(instance.name, level),
            None if instance.loads else instance.workers,  # the block counts them
        )
        self._run.store.add_trial(record)
        return record

    def run(
        self, heat: Heat, instance: WarmInstance, spec: LoadSpec, context: TrialContext
    ) -> TrialRecord:
        """Thaw an instance, load it, freeze it. One that died leaves the heat."""
        world = self._run.world
        lifecycle.thaw(world, instance.instance)
        record = self.measure(instance, spec, context)
        self._troubles.report(instance.name, record)
        if lifecycle.ended(world, instance.instance) is None:
            lifecycle.freeze(world, instance.instance)
        else:
            heat.stop(instance)
        return record


class HalfLoads:
    """Loads a contender at half its rate after a trial in which the client was busy."""

    def __init__(self, run: RaceContext, trials: TrialRunner) -> None:
        self._run = run
        self._trials = trials
        self._left: dict[tuple[str, str], int] = {}  # trials of a contender on a workload

    def check(self, heat: Heat, instance: WarmInstance, record: TrialRecord) -> None:
        """Load it if the client was busy, again after a later trial if it seems to spin."""
        key = (instance.name, record.workload)
        left = self._left.get(key, HALF_LOADS_MAX)
        if not left or instance not in heat or record.rate_per_s is None:
            return
        busy_share = record.figures.busiest_thread_share or 0.0
        if busy_share >= CLIENT_SHARE_MAX and instance.entered.contender.role == "contender":
            self._left[key] = left - 1 if self._seems_to_spin(heat, instance, record) else 0

    def _seems_to_spin(self, heat: Heat, instance: WarmInstance, record: TrialRecord) -> bool:
        most, workload = max(self._run.protocol.connections), record.workload
        spec = replace(
            load_spec(self._run.protocol, instance.instance, most, workload=workload),
            rate_per_s=(record.rate_per_s or 0.0) / 2,
            duration_s=HALF_LOAD_S,
            discard_s=HALF_LOAD_DISCARD_S,
        )
        context = self._run.trial_context(instance, workload, HALF_LOAD, block=1)
        half = self._trials.run(heat, instance, spec, context)
        if half.state != "ok" or half.errors:  # failed requests cost another CPU time
            return False
        return spins(record.server_cpu_us_per_request, half.server_cpu_us_per_request)


def measure_latency(
    run: RaceContext, standings: Standings, trials: TrialRunner, invocation: int, duration_s: float
) -> None:
    """Start every contender once more and load it for `duration_s` at each share.

    A contender whose rate at the highest level is unknown is left out, with an event.
    """
    protocol = run.protocol
    order = random.Random(f"{run.seed} latency")
    starter = Starter(run.world, protocol, run.store, run.listen, has_place=lambda _: True)
    waiting = [e for e in run.entered_contenders if e.contender.name in standings.names]
    order.shuffle(waiting)
    connections = max(protocol.connections)
    loads_each = len(LATENCY_SHARES) * len(protocol.workload_names)
    about_s = len(waiting) * (START_S + loads_each * duration_s)
    more = numbers.duration(about_s)
    run.listen(Event(f"measuring latency at fixed rates takes about {more} more than the race"))
    for number in itertools.count(1):
        with Heat(run.world, starter, lambda *_: None, protocol.at_once) as heat:
            heat.start_as_many_as_fit(
                waiting, lambda entered: heat.start(entered, invocation, run.now_s())
            )
            pairs = [
                (instance, workload)
                for instance in heat.contenders
                for workload in protocol.workload_names
                if instance.entered.contender.answers(workload)
            ]
            loads = [(*pair, share) for pair in pairs for share in LATENCY_SHARES]
            order.shuffle(loads)
            rates_per_s = {
                (instance.name, workload): _rate(
                    run, trials, heat, instance, workload, standings, number
                )
                for instance, workload in pairs
            }
            for instance, workload, share in loads:
                rate_per_s = rates_per_s.get((instance.name, workload))
                if instance in heat and rate_per_s is not None:
                    on = f" on {workload}" if len(protocol.workload_names) > 1 else ""
                    at = numbers.percent(share, 0)
                    what = f"latency of {instance.name}{on} at {at} of its rate"
                    run.listen(Progress(what))
                    spec = replace(
                        load_spec(protocol, instance.instance, connections, workload=workload),
                        rate_per_s=share * rate_per_s,
                        duration_s=duration_s,
                        seed=order.randrange(2**31),
                    )
                    context = run.trial_context(instance, workload, "latency", block=1)
                    trials.run(heat, instance, spec, replace(context, heat=number))
        if not waiting:
            return


def _rate(
    run: RaceContext,
    trials: TrialRunner,
    heat: Heat,
    instance: WarmInstance,
    workload: str,
    standings: Standings,
    heat_number: int,
) -> float | None:
    """The contender's rate in the race; if that is unknown, the first valid one of some trials.

    None, with an event, if none of them is valid.
    """
    connections = max(run.protocol.connections)
    rate_per_s = standings.rate_per_s(instance.name, Level(workload, connections))
    if rate_per_s is not None:
        return rate_per_s
    spec = replace(
        load_spec(run.protocol, instance.instance, connections, workload=workload),
        duration_s=RATE_S,
    )
    for attempt in range(1, RATE_TRIALS + 1):
        if instance not in heat:
            break
        run.listen(Progress(f"rate of {instance.name} for its latency: attempt {attempt}"))
        context = run.trial_context(instance, workload, RATE_KIND, attempt)
        record = trials.run(heat, instance, spec, replace(context, heat=heat_number))
        if record.rate_per_s and is_valid(record):
            return record.rate_per_s
    text = (
        f"{instance.name}: no latency, because none of {RATE_TRIALS} more trials gave a valid rate "
        "to take shares of"
    )
    run.listen(Event(text, trouble=True))
    return None
