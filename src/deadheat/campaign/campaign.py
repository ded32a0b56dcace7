"""A campaign: build every contender, race them, keep the run, say why it ended."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deadheat import __version__
from deadheat.campaign.build import Builder
from deadheat.campaign.grid import Entrant
from deadheat.campaign.prepare import Candidate, prepare
from deadheat.campaign.progress import Happened, Listener
from deadheat.campaign.race import Race
from deadheat.campaign.racer import Racer, canaries, from_contender
from deadheat.campaign.world import World
from deadheat.catalog import Contender
from deadheat.errors import DeadheatError
from deadheat.protocol import Protocol
from deadheat.store import Store


@dataclass(frozen=True, slots=True)
class Plan:
    """What a campaign is to do."""

    protocol: Protocol
    contenders: Sequence[Contender]
    labels: Mapping[str, str]  # contender -> label, as published
    extra: Sequence[Racer]  # command lines of the user's
    seed: int
    command: Sequence[str]
    latency_s: float | None = None  # measure latency apart, this long at each rate


def conduct(plan: Plan, world: World, store: Store, builder: Builder, listen: Listener) -> str:
    """Build, race and keep; returns the run's id. An interrupt ends the run and keeps it."""
    run_id = store.begin_run(
        protocol=plan.protocol.model_dump(),
        command=plan.command,
        seed=plan.seed,
        deadheat_version=__version__,
        generator_version=f"{world.generator.name} {world.generator_version}",
    )
    state = "failed"
    conclusion: dict[str, Any] = {"why": "an error ended it"}
    try:
        store.add_host(run_id, "server", world.server_cpus, world.server_host.fingerprint())
        store.add_host(run_id, "load", world.load_cpus, world.load_host.fingerprint())
        entrants = _enter(plan, world, store, run_id, builder, listen)
        race = Race(world, plan.protocol, store, run_id, entrants, plan.seed, listen)
        look = race.run()
        if plan.latency_s is not None:
            race.measure_latency(plan.latency_s)
        state = "complete"
        why = "settled" if look.settled else _why_it_ended(plan.protocol)
        conclusion = {"why": why, "share": look.share, "look": look.number}
    except KeyboardInterrupt:
        state, conclusion = "interrupted", {"why": "interrupted"}
        listen(Happened("interrupted: what was measured is kept", trouble=True))
    except DeadheatError as error:
        conclusion = {"why": str(error)}
        raise
    finally:
        store.end_run(run_id, state, conclusion)
    return run_id


def _enter(
    plan: Plan,
    world: World,
    store: Store,
    run_id: str,
    builder: Builder,
    listen: Listener,
) -> list[Entrant]:
    """Prepare the contenders and give each its row; those with a fault have a row and no start."""
    candidates = prepare(plan.contenders, world.server_host, builder, listen)
    entrants: list[Entrant] = []
    for candidate in candidates:
        contender_id = _keep_candidate(store, run_id, len(entrants), candidate, plan.labels)
        if candidate.built is not None:
            racer = from_contender(candidate.contender, candidate.built)
            entrants.append(Entrant(racer, contender_id))
    extra = [*plan.extra, *(canaries(world.engine) if plan.protocol.canary else [])]
    for racer in extra:
        entrants.append(Entrant(racer, _keep_racer(store, run_id, len(entrants), racer, world)))
    if all(entrant.racer.role == "canary" for entrant in entrants):
        raise DeadheatError(
            "no contender is left to measure", "the reasons stand above; `deadheat list` helps"
        )
    return entrants


def _keep_candidate(
    store: Store, run_id: str, position: int, candidate: Candidate, labels: Mapping[str, str]
) -> int:
    contender, built = candidate.contender, candidate.built
    build_id = None
    if built is not None:
        build_id = store.add_build(
            server=contender.server.name,
            key=built.key,
            built_at=_now(),
            elapsed_s=built.elapsed_s,
            toolchains=dict(built.toolchains),
            files=dict(built.files),
            log=built.log,
        )
    return store.add_contender(
        run_id=run_id,
        position=position,
        name=contender.name,
        server=contender.server.name,
        setting=contender.setting,
        label=labels.get(contender.name),
        role="rival",
        workers=contender.start.workers,
        threads=contender.start.threads,
        version=candidate.version,
        manifest=contender.server.manifest.model_dump(by_alias=True),
        build_id=build_id,
        fault=candidate.fault,
    )


def _keep_racer(store: Store, run_id: str, position: int, racer: Racer, world: World) -> int:
    return store.add_contender(
        run_id=run_id,
        position=position,
        name=racer.name,
        server=racer.name,
        setting="default",
        role=racer.role,
        workers=racer.workers,
        threads=racer.threads,
        version=world.engine_version if racer.role == "canary" else None,
        manifest={"command": list(racer.command)},
    )


def _why_it_ended(protocol: Protocol) -> str:
    return "budget spent" if protocol.stopping.kind == "settle" else "all repetitions done"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
