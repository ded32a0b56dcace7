"""Latency at fixed offered rates: open loop, at shares of each contender's own rate.

Latency from the intended send time means something only below saturation.
"""

import itertools
import random
from dataclasses import replace

from deadheat.campaign.context import RunContext
from deadheat.campaign.estimate import START_S
from deadheat.campaign.heat import Heat
from deadheat.campaign.one_trial import TrialRunner
from deadheat.campaign.standings import Standings
from deadheat.duration import spell_duration
from deadheat.events import Event, Progress
from deadheat.measure.gates.pooled import is_valid
from deadheat.measure.starter import Starter
from deadheat.measure.trial import load_spec
from deadheat.measure.warm_instance import WarmInstance
from deadheat.workload import Level

LATENCY_SHARES = (0.5, 0.7, 0.9)
RATE_KIND = "latency_rate"  # of trials that find a rate that the race did not
RATE_TRIALS, RATE_S = 5, 2.0


def measure_latency(
    run: RunContext, standings: Standings, invocation: int, duration_s: float
) -> None:
    """Start every contender once more and load it for `duration_s` at each share.

    A contender whose rate at the highest level is unknown is left out, with an event.
    """
    protocol = run.protocol.model_copy(update={"slices": None})  # each load is a trial
    order = random.Random(f"{run.seed} latency")
    trials = TrialRunner(run, standings)
    starter = Starter(run.world, protocol, run.store, run.listen)
    waiting = [e for e in run.entered_contenders if standings.races(e.contender.name)]
    order.shuffle(waiting)
    connections = max(protocol.connections)
    loads_each = len(LATENCY_SHARES) * len(protocol.workload_names)
    about_s = len(waiting) * (START_S + loads_each * duration_s)
    text = (
        f"measuring latency at fixed rates takes about {spell_duration(about_s)} more than the race"
    )
    run.listen(Event(text))
    for number in itertools.count(1):
        with Heat(run.world, starter, lambda *_: None, protocol.at_once) as heat:
            heat.start_as_many_as_fit(waiting, lambda entered: heat.start(entered, invocation, run.now_s()))
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
                    what = f"latency of {instance.name}{on} at {share:.0%} of its rate"
                    run.listen(Progress(what))
                    spec = replace(
                        load_spec(protocol, instance.instance, connections, workload=workload),
                        rate_per_s=share * rate_per_s,
                        duration_s=duration_s,
                        seed=order.randrange(2**31),
                    )
                    trials.run(
                        heat, instance, spec, workload, block=1, heat_number=number, kind="latency"
                    )
        if not waiting:
            return


def _rate(
    run: RunContext,
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
    protocol = run.protocol.model_copy(update={"slices": None})
    spec = replace(
        load_spec(protocol, instance.instance, connections, workload=workload), duration_s=RATE_S
    )
    for attempt in range(1, RATE_TRIALS + 1):
        if instance not in heat:
            break
        run.listen(Progress(f"rate of {instance.name} for its latency: attempt {attempt}"))
        record = trials.run(
            heat,
            instance,
            spec,
            workload,
            block=attempt,
            heat_number=heat_number,
            kind=RATE_KIND,
        )
        if record.rate_per_s and is_valid(record):
            return record.rate_per_s
    text = (
        f"{instance.name}: no latency, because none of {RATE_TRIALS} more trials gave a valid rate "
        "to take shares of"
    )
    run.listen(Event(text, trouble=True))
    return None
