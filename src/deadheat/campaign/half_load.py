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
from deadheat.measure.gates.judge import CLIENT_SHARE_MAX
from deadheat.measure.gates.pooled import spins
from deadheat.measure.trial import load_spec
from deadheat.measure.warm_instance import WarmInstance
from deadheat.store import TrialRecord

HALF_LOAD = "half_load"  # the kind of its trials
TRIALS_MAX = 3  # of a contender that seems to spin
DURATION_S = 0.5
DISCARD_S = 1.0


class HalfLoads:
    """Loads a contender at half its rate after a trial in which the client was busy."""

    def __init__(self, run: RunContext, trials: TrialRunner) -> None:
        self._protocol = run.protocol.model_copy(update={"slices": None})
        self._trials = trials
        self._left: dict[tuple[str, str], int] = {}  # trials of a contender on a workload

    def check(self, heat: Heat, instance: WarmInstance, record: TrialRecord) -> None:
        """Load it if the client was busy, again after a later trial if it seems to spin."""
        key = (instance.name, record.workload)
        left = self._left.get(key, TRIALS_MAX)
        if not left or instance not in heat or record.rate_per_s is None:
            return
        busy_share = record.result.get("busiest_thread_share") or 0.0
        if busy_share >= CLIENT_SHARE_MAX and instance.entered.contender.role == "contender":
            self._left[key] = left - 1 if self._seems_to_spin(heat, instance, record) else 0

    def _seems_to_spin(self, heat: Heat, instance: WarmInstance, record: TrialRecord) -> bool:
        most, workload = max(self._protocol.connections), record.workload
        spec = replace(
            load_spec(self._protocol, instance.instance, most, workload=workload),
            rate_per_s=(record.rate_per_s or 0.0) / 2,
            duration_s=DURATION_S,
            discard_s=DISCARD_S,
        )
        half = self._trials.run(
            heat, instance, spec, workload, block=1, heat_number=1, kind=HALF_LOAD
        )
        if half.state != "ok" or half.errors:  # failed requests cost another CPU time
            return False
        return spins(record.server_cpu_us_per_request, half.server_cpu_us_per_request)
