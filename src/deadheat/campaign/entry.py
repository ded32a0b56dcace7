"""Entering a run: every contender gets its row, those with a fault too."""

import datetime
from collections.abc import Mapping, Sequence

from deadheat.build.builder import Builder, Built
from deadheat.build.prepare import Candidate, prepare
from deadheat.catalog import Contender
from deadheat.errors import DeadheatError
from deadheat.events import Listener
from deadheat.measure.contender import Racer, from_contender
from deadheat.measure.starter import Entrant
from deadheat.measure.world import World
from deadheat.store import Store


def enter_contenders(
    contenders: Sequence[Contender],
    labels: Mapping[str, str],
    world: World,
    store: Store,
    run_id: str,
    builder: Builder,
    listen: Listener,
) -> list[Entrant]:
    """Build the contenders and enter those that can be started."""
    entrants = []
    candidates = prepare(contenders, world.server_host, builder, listen)
    for position, candidate in enumerate(candidates):
        contender_id = _keep_candidate(store, run_id, position, candidate, labels)
        if candidate.built is not None:
            racer = from_contender(candidate.contender, candidate.built)
            entrants.append(Entrant(racer, contender_id))
    return entrants


def enter_racers(
    racers: Sequence[Racer], store: Store, run_id: str, first_position: int = 0
) -> list[Entrant]:
    """Enter racers that no folder stands behind: canaries, copies, the user's own command."""
    return [
        Entrant(racer, _keep_racer(store, run_id, first_position + number, racer))
        for number, racer in enumerate(racers)
    ]


def require_rivals(entrants: Sequence[Entrant]) -> None:
    """Raises `DeadheatError` where nothing is left to measure."""
    if all(entrant.racer.role == "canary" for entrant in entrants):
        raise DeadheatError(
            "no contender is left to measure", "the reasons stand above; `deadheat list` helps"
        )


def keep_build(store: Store, built: Built) -> int:
    """The row of a build; one that is kept already is found again."""
    return store.add_build(
        server=built.server.name,
        key=built.key,
        built_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        elapsed_s=built.elapsed_s,
        toolchains=dict(built.toolchains),
        files=dict(built.files),
        log=built.log,
    )


def _keep_candidate(
    store: Store, run_id: str, position: int, candidate: Candidate, labels: Mapping[str, str]
) -> int:
    contender, built = candidate.contender, candidate.built
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
        build_id=keep_build(store, built) if built is not None else None,
        fault=candidate.fault,
    )


def _keep_racer(store: Store, run_id: str, position: int, racer: Racer) -> int:
    return store.add_contender(
        run_id=run_id,
        position=position,
        name=racer.name,
        server=racer.name,
        setting="default",
        role=racer.role,
        workers=racer.workers,
        threads=racer.threads,
        manifest={"command": list(racer.command)},
    )
