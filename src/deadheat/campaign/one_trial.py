"""One trial on a frozen instance: thaw, load, store, freeze."""

from deadheat.campaign.context import RunContext
from deadheat.campaign.heat import Heat
from deadheat.campaign.standings import Standings
from deadheat.campaign.trouble import Troubles
from deadheat.load import LoadSpec
from deadheat.measure import lifecycle
from deadheat.measure.trial import TrialContext, measure
from deadheat.measure.warm_instance import WarmInstance
from deadheat.store import TrialRecord
from deadheat.workload import Level


class TrialRunner:
    """Runs trials of a run and stores each; `done` counts them, earlier ones included."""

    def __init__(self, run: RunContext, standings: Standings, done: int = 0) -> None:
        self._run = run
        self._standings = standings
        self._troubles = Troubles(run.listen)
        self.done = done

    def run(
        self,
        heat: Heat,
        instance: WarmInstance,
        spec: LoadSpec,
        workload: str,
        *,
        block: int,
        heat_number: int,
        kind: str = "measure",
    ) -> TrialRecord:
        """Load one instance. One that died leaves the heat."""
        world = self._run.world
        context = TrialContext(
            run_id=self._run.run_id,
            contender_id=instance.entered.contender_id,
            instance_id=instance.instance_id,
            kind=kind,
            invocation=instance.invocation,
            block=block,
            heat=heat_number,
            at_s=self._run.now_s(),
            steady=instance.warmed_on(workload).kind,
            workload=workload,
        )
        lifecycle.thaw(world, instance.instance)
        level = Level(workload, spec.connections)
        ceiling_per_s = self._standings.ceiling_per_s(level)
        clock_khz_max = self._standings.clock_khz_max(instance.name, level)
        record = measure(
            world,
            instance.instance,
            spec,
            context,
            ceiling_per_s,
            clock_khz_max,
            None if instance.loads else instance.workers,  # the block counts them
        )
        self._run.store.add_trial(record)
        self.done += 1
        self._troubles.report(instance.name, record)
        if lifecycle.ended(world, instance.instance) is None:
            lifecycle.freeze(world, instance.instance)
        else:
            heat.stop(instance)
        return record
