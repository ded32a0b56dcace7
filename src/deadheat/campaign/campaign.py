"""A campaign: build every contender, measure them, store the run and why it ended."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from deadheat.build.builder import Builder
from deadheat.campaign.alone import Alone
from deadheat.campaign.common_rate import CommonRate
from deadheat.campaign.entry import enter_contenders, enter_made, require_contenders
from deadheat.campaign.explain import Explainer
from deadheat.campaign.failures import none_left
from deadheat.campaign.past import Past
from deadheat.campaign.race import Race
from deadheat.campaign.resolve import Resolved, limits_of, resolve
from deadheat.campaign.resume import (
    NEW_RUN,
    Unfinished,
    can_resume,
    enter_again,
    load_unfinished,
    place_options,
)
from deadheat.campaign.run import RaceContext, Run, RunContext, open_run, reopen_run
from deadheat.campaign.trials import measure_latency
from deadheat.catalog import Catalog, Selection, selection
from deadheat.errors import DeadheatError, LinkLost, Unmeasurable
from deadheat.events import Event, Listener
from deadheat.load.pooling import Several
from deadheat.measure import lifecycle
from deadheat.measure.contender import Contender, controls_for
from deadheat.measure.footprint import build_facts
from deadheat.measure.own_servers import own_contender
from deadheat.measure.warm_up import EnteredContender
from deadheat.measure.world import World
from deadheat.protocol import AloneProtocol, RateProtocol, Settle, SliceProtocol
from deadheat.store import Conclusion, Store
from deadheat.store.listing import kept_options, run_argument, run_summary
from deadheat.store.rows import StoredContender

NOT_OURS = (
    "runs already: it keeps its CPUs and runs on while others are measured, and what a fresh start "
    "would change is not seen; a command behind `--` is started, held apart and frozen"
)

NOT_SEEN = "so its CPU time and memory are unknown, and its work looks like that of other processes"

Conducted = SliceProtocol | AloneProtocol
LATENCY_S = 5.0  # at each rate, where --latency says nothing else


@dataclass(frozen=True, slots=True)
class Plan:
    """What a campaign is to do."""

    protocol: Conducted  # as asked for; of a run to resume, as stored
    selections: Sequence[Selection]
    labels: Mapping[str, str]  # contender -> label, as published
    extra: Sequence[Contender]  # command lines of the user's
    seed: int
    command: Sequence[str]
    latency_s: float | None = None  # measure latency apart, this long at each rate
    explain: bool = False  # count afterwards what each contender does for a request
    missing: Mapping[str, str] = field(default_factory=dict)  # published row -> why none runs
    left: Unfinished | None = None  # the run to resume, instead of a new one

    @property
    def past(self) -> Past:
        return self.left.past if self.left else Past()


def rest_of_run(store_path: Path, run_id: str, catalog: Catalog) -> Plan:
    """What is left of a run that has ended early. Raises `DeadheatError` if it cannot go on."""
    with Store(store_path, read_only=True) as store:
        unfinished = load_unfinished(store, run_id)
    return plan_of(unfinished, catalog)


def plan_of(unfinished: Unfinished, catalog: Catalog) -> Plan:
    """The plan as the run stored it. Raises `DeadheatError` for a contender that is gone."""
    waiting, protocol = unfinished.waiting, unfinished.protocol
    is_extension = unfinished.past.extension is not None  # what follows a race is measured by then
    with_latency = not is_extension and kept_options(unfinished.run.command, (), ("--latency",))
    own = [kept for kept in waiting if kept.is_own]
    return Plan(
        protocol=protocol,
        selections=[_selection(unfinished, kept, catalog) for kept in waiting if not kept.is_own],
        labels=unfinished.labels,
        extra=[own_contender(kept.name, kept.manifest.as_stored(), protocol) for kept in own],
        seed=unfinished.run.seed,
        command=unfinished.run.command,
        latency_s=LATENCY_S if with_latency else None,
        explain=not is_extension and "explain" in unfinished.run.command[1:2],
        left=unfinished,
    )


def _selection(unfinished: Unfinished, kept: StoredContender, catalog: Catalog) -> Selection:
    if server := catalog.find(kept.server):
        return selection(server, kept.setting, kept.workers)
    raise DeadheatError(
        f"run {unfinished.id} cannot go on: {catalog.root} has no server {kept.server}",
        f"name the catalog with --catalog, or {NEW_RUN}",
    )


def conduct(plan: Plan, world: World, store: Store, builder: Builder, listen: Listener) -> str:
    """Build, race and keep; returns the run's id. An interrupt ends the run and keeps it.

    `Unmeasurable` and `LinkLost` are raised with the run's id. A server that runs already has to
    answer before anything is begun.
    """
    for contender in plan.extra:
        if contender.url is not None:
            instance = lifecycle.start(world, contender)
            listen(Event(f"{contender.name} {NOT_OURS}"))
            if instance.unseen is not None:
                listen(Event(f"{contender.name}: {instance.unseen}; {NOT_SEEN}", trouble=True))
    resolved = _resolved(plan, world)
    protocol = resolved.protocol
    alone = isinstance(protocol, AloneProtocol)
    for remark in resolved.remarks:
        listen(Event(remark, trouble=not alone))
    known = Conclusion(folder=str(Path.cwd()))
    if alone:
        world = replace(world, generator=Several(world.generator, resolved.connections_each))
        known = known.changed(missing=dict(plan.missing), remarks=resolved.remarks)
    opened = (
        open_run(store, world, protocol, plan.command, plan.seed, known)
        if plan.left is None
        else reopen_run(store, world, plan.left)
    )
    run: Run | None = None
    try:
        with opened as run:
            entered = _enter(plan, protocol, world, store, builder, run, listen)
            facts = build_facts(plan.selections, entered)
            run.conclude(builds={**run.conclusion.builds, **facts})
            about = (store, run.id, entered, plan.seed, listen, plan.past)
            if isinstance(protocol, AloneProtocol):
                Alone(RunContext(world, protocol, *about), plan.labels).run()
                run.conclude(why="all repetitions done")
            elif isinstance(protocol, RateProtocol):
                at_rates = CommonRate(RaceContext(world, protocol, *about), protocol)
                at_rates.run()
                run.conclude(why="budget spent", race_s=at_rates.now_s())
            else:
                _race(plan, RaceContext(world, protocol, *about), run)
    except KeyboardInterrupt:
        if run is None:
            raise
        listen(Event(f"interrupted: {_left_by(plan, run, store)}", trouble=True))
    except (Unmeasurable, LinkLost) as error:
        error.run_id = run.id if run else None
        if run and isinstance(error, Unmeasurable) and run_summary(store, run.id).trials:
            report = f"`deadheat report {run_argument(run.id, store.path)} -v` shows every check"
            error.hint = f"{error.hint}; {report}"
        raise
    return run.id


def _resolved(plan: Plan, world: World) -> Resolved[SliceProtocol] | Resolved[AloneProtocol]:
    """What runs: of a run that goes on, the protocol that it stored."""
    protocol, contenders = plan.protocol, len(plan.selections) + len(plan.extra)
    if isinstance(protocol, SliceProtocol):
        if plan.left is not None:
            return limits_of(protocol, world)
        return resolve(protocol, world, contenders)
    if plan.left is None:
        return resolve(protocol, world, contenders)
    limits = limits_of(protocol, world)
    if limits.protocol.connections != protocol.connections:
        raise DeadheatError(
            f"run {plan.left.id} cannot go on within today's limits: {'; '.join(limits.remarks)}",
            "widen the limits again, or start a run of its own",
        )
    return limits


def _enter(
    plan: Plan,
    protocol: Conducted,
    world: World,
    store: Store,
    builder: Builder,
    run: Run,
    listen: Listener,
) -> list[EnteredContender]:
    """Who is started: of a run that goes on, those with something left to do."""
    extra = [*plan.extra, *controls_for(protocol, world.server_engine)]
    if plan.left is not None:
        return enter_again(plan.left, plan.selections, extra, world, store, builder, listen)
    entered = [
        *enter_contenders(plan.selections, plan.labels, world, store, run.id, builder, listen),
        *enter_made(extra, store, run.id, len(plan.selections)),
    ]
    require_contenders(entered)
    return entered


def _race(plan: Plan, context: RaceContext, run: Run) -> None:
    """Race, then measure latency or explain if that is asked for; `run` gets the conclusion."""
    race = Race(context, only_counts=plan.explain)
    if plan.left is None or not plan.left.race_ended:
        _race_to_its_end(race, plan, context, run)
    if plan.latency_s is not None:
        measure_latency(context, race.standings, race.trials, race.invocation + 1, plan.latency_s)
    if plan.explain:
        Explainer(context, race.invocation + 1).explain_all(race.standings)


def _race_to_its_end(race: Race, plan: Plan, context: RaceContext, run: Run) -> None:
    """`run` gets why the race ended, and its last look."""
    stopping = context.protocol.stopping
    try:
        look = race.run()
    except KeyboardInterrupt:
        run.conclude(look=race.standings.last.number)
        raise
    run.conclude(race_s=context.now_s())
    if not race.standings.names:
        out = race.standings.tally.out
        raise none_left(out, f"the reasons are printed above{_verifies(plan, out)}")
    why = "all repetitions done"
    if isinstance(stopping, Settle):
        answered = "settled" if stopping.question == "order" else "verdict reached"
        why = answered if look.settled else "budget spent"
    run.conclude(why=why, share=look.share, look=look.number)
    context.store.keep_conclusion(run.id, run.conclusion)


def _verifies(plan: Plan, out: Collection[str]) -> str:
    """The command that says more about the first server of the catalog that is out, if one is."""
    names = [each.server.name for each in plan.selections if each.name in out]
    if not names:
        return ""
    words = ("deadheat", "verify", names[0], *kept_options(plan.command, ("--catalog",)))
    return f"; `{shlex.join(words)}` says more"


def _left_by(plan: Plan, run: Run, store: Store) -> str:
    """What an interrupt leaves, and the command that goes on."""
    if not run_summary(store, run.id).trials:
        return "nothing was measured yet"
    kept = "what was measured is kept"
    if not can_resume(plan.command):
        return kept
    place = "".join(f" {shlex.quote(word)}" for word in place_options(plan.command))
    return f"{kept}; deadheat resume {run_argument(run.id, store.path)}{place} goes on"
