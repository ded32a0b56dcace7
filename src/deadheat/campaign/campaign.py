"""A campaign: build every contender, measure them, store the run and why it ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from deadheat.build.builder import Builder
from deadheat.campaign.alone import Alone
from deadheat.campaign.context import RunContext
from deadheat.campaign.entry import enter_contenders, enter_made, require_contenders
from deadheat.campaign.failures import none_left
from deadheat.campaign.latency import measure_latency
from deadheat.campaign.limits import fit_to, too_few
from deadheat.campaign.past import Past
from deadheat.campaign.race import Race
from deadheat.campaign.resume import Unfinished, enter_again
from deadheat.campaign.run import Run, as_measured, open_run, reopen_run
from deadheat.campaign.slice_race import SliceRace
from deadheat.catalog import Selection
from deadheat.errors import DeadheatError, LinkLost, Unmeasurable
from deadheat.events import Event, Listener
from deadheat.load.several import Several
from deadheat.measure import lifecycle
from deadheat.measure.contender import Contender, controls_for
from deadheat.measure.warm_instance import EnteredContender
from deadheat.measure.world import World
from deadheat.protocol import Protocol
from deadheat.store import Conclusion, Store
from deadheat.store.listing import run_summary
from deadheat.store.run_argument import run_argument

NOT_OURS = (
    "runs already: it keeps its CPUs and runs on while others are measured, and what a fresh start "
    "would change is not seen; a command behind `--` is started, held apart and frozen"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a campaign is to do."""

    protocol: Protocol
    selections: Sequence[Selection]
    labels: Mapping[str, str]  # contender -> label, as published
    extra: Sequence[Contender]  # command lines of the user's
    seed: int
    command: Sequence[str]
    latency_s: float | None = None  # measure latency apart, this long at each rate
    missing: Mapping[str, str] = field(default_factory=dict)  # published row -> why none runs
    left: Unfinished | None = None  # the run to resume, instead of a new one


def conduct(plan: Plan, world: World, store: Store, builder: Builder, listen: Listener) -> str:
    """Build, race and keep; returns the run's id. An interrupt ends the run and keeps it.

    `Unmeasurable` and `LinkLost` are raised with the run's id. A server that runs already has to
    answer before anything is begun.
    """
    for contender in plan.extra:
        if contender.url is not None:
            lifecycle.start(world, contender)
            listen(Event(f"{contender.name} {NOT_OURS}"))
    run: Run | None = None
    known = Conclusion()
    if plan.protocol.residency == "alone":
        plan, world, remarks = _fit(plan, world, listen)
        known = Conclusion(missing=dict(plan.missing), remarks=remarks)
    else:
        for remark in too_few(plan.protocol, world.server_host.fingerprint()):
            listen(Event(remark, trouble=True))
    opened = (
        open_run(store, world, plan.protocol, plan.command, plan.seed, known)
        if plan.left is None
        else reopen_run(store, world, plan.left)
    )
    try:
        with opened as run:
            _race(plan, world, store, builder, run, listen)
    except KeyboardInterrupt:
        if run is None:
            raise
        listen(Event(f"interrupted: {_left_by(run, plan, store)}", trouble=True))
    except (Unmeasurable, LinkLost) as error:
        error.run_id = run.id if run else None
        raise
    return run.id


def _left_by(run: Run, plan: Plan, store: Store) -> str:
    """What an interrupt leaves; how a server of the user's own was started is not kept."""
    if not run_summary(store, run.id).trials:
        return "nothing was measured yet"
    argument = run_argument(run.id, store.path)
    goes_on = "" if plan.extra else f"; deadheat run --resume {argument} goes on"
    return f"what was measured is kept{goes_on}"


def _fit(plan: Plan, world: World, listen: Listener) -> tuple[Plan, World, tuple[str, ...]]:
    """The plan and the world as the limits of the machines allow; each change is an event."""
    load, server = world.load_host.fingerprint(), world.server_host.fingerprint()
    fitted = fit_to(plan.protocol, load, server, min(len(side.cpus) for side in world.loads))
    if plan.left is not None and fitted.protocol.connections != plan.protocol.connections:
        raise DeadheatError(
            f"run {plan.left.id} cannot go on within today's limits: {'; '.join(fitted.remarks)}",
            "widen the limits again, or start a run of its own",
        )
    for remark in fitted.remarks:
        listen(Event(remark))
    generator = Several(world.generator, fitted.connections_each)
    return (
        replace(plan, protocol=fitted.protocol),
        replace(world, generator=generator),
        fitted.remarks,
    )


def _race(
    plan: Plan, world: World, store: Store, builder: Builder, run: Run, listen: Listener
) -> None:
    past = plan.left.past if plan.left else Past()
    protocol = as_measured(_within(plan.protocol, past), world)
    entered = _enter(plan, world, store, builder, run, listen)
    context = RunContext(world, protocol, store, run.id, entered, plan.seed, listen, past)
    if protocol.residency == "alone":
        Alone(context, plan.labels).run()
        run.conclude(why="all repetitions done")
        return
    race = Race(context) if protocol.slices is None else SliceRace(context)
    begun_s = world.server_host.now_s() - past.elapsed_s
    try:
        look = race.run()
    except KeyboardInterrupt:
        run.conclude(look=race.standings.last.number)
        raise
    run.conclude(race_s=world.server_host.now_s() - begun_s)
    if not race.standings.contenders_left:
        more = "; `deadheat verify` says more" if plan.selections else ""
        raise none_left(race.standings.tally.out, f"the reasons are printed above{more}")
    why = "all repetitions done"
    if protocol.stopping.kind == "settle":
        answered = "settled" if protocol.stopping.question == "order" else "verdict reached"
        why = answered if look.settled else "budget spent"
    run.conclude(why=why, share=look.share, look=look.number)
    if plan.latency_s is not None:
        measure_latency(context, race.standings, race.invocation + 1, plan.latency_s)


def _within(protocol: Protocol, past: Past) -> Protocol:
    """The protocol with the end of the extension, if this is one, as its budget."""
    if past.extension is None:
        return protocol
    stopping = protocol.stopping.model_copy(update={"budget_s": past.extension.until_s})
    return protocol.model_copy(update={"stopping": stopping})


def _enter(
    plan: Plan, world: World, store: Store, builder: Builder, run: Run, listen: Listener
) -> list[EnteredContender]:
    """Who is started: of a run that goes on, those with something left to do."""
    extra = [*plan.extra, *controls_for(plan.protocol, world.engine_of_controls)]
    if plan.left is not None:
        return enter_again(plan.left, plan.selections, extra, world, store, builder, listen)
    entered = [
        *enter_contenders(plan.selections, plan.labels, world, store, run.id, builder, listen),
        *enter_made(extra, store, run.id, len(plan.selections)),
    ]
    require_contenders(entered)
    return entered
