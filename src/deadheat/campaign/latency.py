"""Latency at fixed offered rates: open loop, at shares of each contender's own rate.

Latency from the intended send time means something only below saturation.
"""

import itertools
import random
from dataclasses import replace

from deadheat.campaign.context import RunContext
from deadheat.campaign.heat import Heat
from deadheat.campaign.one_trial import TrialRunner
from deadheat.campaign.standings import Standings
from deadheat.events import Event, Progress
from deadheat.measure.starter import EnteredContender, Starter, WarmInstance
from deadheat.measure.trial import load_spec

LATENCY_SHARES = (0.5, 0.7, 0.9)


def measure_latency(
    run: RunContext, standings: Standings, invocation: int, duration_s: float
) -> None:
    """Start every contender once more and load it for `duration_s` at each share.

    A contender whose rate at the highest level is unknown is left out, with an event.
    """
    protocol = run.protocol.model_copy(update={"slices": None})  # each load is a trial
    order = random.Random(f"{run.seed} latency")
    begun_s = run.world.server_host.now_s() - run.past.elapsed_s
    trials = TrialRunner(run, standings, begun_s)
    starter = Starter(run.world, protocol, run.store, run.listen)
    dropped: list[EnteredContender] = []
    waiting = [e for e in run.entered_contenders if standings.races(e.contender.name)]
    order.shuffle(waiting)
    connections = max(protocol.connections)
    for number in itertools.count(1):
        with Heat(run.world, starter, dropped.append, protocol.at_once) as heat:
            heat.start_as_many_as_fit(waiting, lambda entered: heat.start(entered, invocation, 0.0))
            loads = list(itertools.product(heat.contenders, LATENCY_SHARES))
            order.shuffle(loads)
            for instance, share in loads:
                rate_per_s = _rate(run, standings, instance, connections, share)
                if instance in heat and rate_per_s is not None:
                    run.listen(Progress(f"latency of {instance.name} at {share:.0%} of its rate"))
                    spec = replace(
                        load_spec(protocol, instance.instance, connections),
                        rate_per_s=share * rate_per_s,
                        duration_s=duration_s,
                        seed=order.randrange(2**31),
                    )
                    trials.run(heat, instance, spec, block=1, heat_number=number, kind="latency")
        if not waiting:
            return


def _rate(
    run: RunContext, standings: Standings, instance: WarmInstance, connections: int, share: float
) -> float | None:
    """The contender's rate in the race; the first time it is unknown, an event."""
    rate_per_s = standings.rate_per_s(instance.name, connections)
    if rate_per_s is None and share == LATENCY_SHARES[0]:
        text = f"{instance.name}: no latency, because it has no valid rate to take shares of"
        run.listen(Event(text, trouble=True))
    return rate_per_s
