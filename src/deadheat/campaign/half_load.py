"""Half load: does a server use CPU time while it waits?

A server that spins looks saturated at any load. At half of its rate it uses more CPU time per
request than at full load; other servers use about as much. But a JVM may compile code anew for the
new load, and use CPU time for that: so the load has a beginning that does not count, and a server
that seems to spin is loaded again after a later block.
"""

from dataclasses import replace

from deadheat.campaign.context import RunContext
from deadheat.campaign.heat import Heat
from deadheat.campaign.one_trial import TrialRunner
from deadheat.measure.gates.pooled import spins
from deadheat.measure.trial import load_spec
from deadheat.measure.warm_instance import WarmInstance
from deadheat.store import TrialRecord

HALF_LOAD = "half_load"  # the kind of its trials
TRIALS_MAX = 3  # of a contender that seems to spin
DURATION_S = 0.5
DISCARD_S = 1.0


def measure_half_load(
    run: RunContext, trials: TrialRunner, heat: Heat, instance: WarmInstance, record: TrialRecord
) -> bool:
    """Load a contender at half of the rate of a trial, on its workload, and store the trial.

    Returns whether the server seems to spin.
    """
    protocol = run.protocol.model_copy(update={"slices": None})
    spec = replace(
        load_spec(protocol, instance.instance, max(protocol.connections), workload=record.workload),
        rate_per_s=(record.rate_per_s or 0.0) / 2,
        duration_s=DURATION_S,
        discard_s=DISCARD_S,
    )
    half = trials.run(heat, instance, spec, record.workload, block=1, heat_number=1, kind=HALF_LOAD)
    return spins(record.server_cpu_us_per_request, half.server_cpu_us_per_request)
