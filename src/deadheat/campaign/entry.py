"""Enters contenders into a run: each gets its row, those with a fault too."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace

from deadheat import numbers
from deadheat.build.builder import Builder, Built
from deadheat.build.prepare import Candidate, build_ahead, jobs_that_fit
from deadheat.catalog import Selection
from deadheat.errors import DeadheatError
from deadheat.events import Event, Listener
from deadheat.host import Host
from deadheat.measure.contender import Contender, contender_from
from deadheat.measure.own_servers import kept_of
from deadheat.measure.warm_up import EnteredContender
from deadheat.measure.world import World
from deadheat.store import Store


def enter_contenders(
    selections: Sequence[Selection],
    labels: Mapping[str, str],
    world: World,
    store: Store,
    run_id: str,
    builder: Builder,
    listen: Listener,
) -> list[EnteredContender]:
    """Build the contenders and enter those that can be started."""
    entered = []
    candidates = build_contenders(selections, world.server_host, builder, listen)
    for position, candidate in enumerate(candidates):
        contender_id = _store_candidate(store, run_id, position, candidate, labels)
        if candidate.built is not None:
            contender = contender_from(candidate.selection, candidate.built)
            entered.append(EnteredContender(contender, contender_id))
    return entered


def build_contenders(
    selections: Sequence[Selection], host: Host, builder: Builder, listen: Listener
) -> list[Candidate]:
    """Build the server of each selection, several in parallel.

    If that took a second or more, an event says how long: a budget does not contain it.
    """
    servers = {selection.server.name: selection.server for selection in selections}
    jobs = jobs_that_fit(host)
    begun_s = host.now_s()
    built = build_ahead(list(servers.values()), host, builder, listen, jobs)
    took_s = host.now_s() - begun_s
    if took_s >= 1 and any(each.built and not each.built.cached for each in built):
        listen(Event(f"the builds took {numbers.duration(took_s)}, before any measurement"))
    by_server = {each.selection.server.name: each for each in built}
    return [
        replace(by_server[selection.server.name], selection=selection) for selection in selections
    ]


def enter_made(
    contenders: Sequence[Contender], store: Store, run_id: str, first_position: int = 0
) -> list[EnteredContender]:
    """Enter contenders that have no folder: controls, copies, the user's own command."""
    return [
        EnteredContender(contender, _store_made(store, run_id, first_position + number, contender))
        for number, contender in enumerate(contenders)
    ]


def require_contenders(entered: Sequence[EnteredContender]) -> None:
    """Raises `DeadheatError` where nothing is left to measure."""
    if all(each.contender.role == "control" for each in entered):
        raise DeadheatError(
            "no contender is left to measure",
            "the reasons are printed above; `deadheat list` shows what can run",
        )


def keep_build(store: Store, built: Built) -> int:
    """The id of a build's row; a build that is stored already keeps its row."""
    return store.add_build(
        server=built.server.name,
        key=built.key,
        built_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        elapsed_s=built.elapsed_s,
        toolchains=dict(built.toolchains),
        files=dict(built.files),
        log=built.log,
    )


def _store_candidate(
    store: Store, run_id: str, position: int, candidate: Candidate, labels: Mapping[str, str]
) -> int:
    selection, built = candidate.selection, candidate.built
    return store.add_contender(
        run_id=run_id,
        position=position,
        name=selection.name,
        server=selection.server.name,
        setting=selection.setting,
        label=labels.get(selection.name),
        role="contender",
        workers=selection.start.workers,
        threads=selection.start.threads,
        version=candidate.version,
        manifest=selection.server.manifest.model_dump(by_alias=True),
        build_id=keep_build(store, built) if built is not None else None,
        fault=candidate.fault,
    )


def _store_made(store: Store, run_id: str, position: int, contender: Contender) -> int:
    return store.add_contender(
        run_id=run_id,
        position=position,
        name=contender.name,
        server=contender.name,
        setting="default",
        role=contender.role,
        workers=contender.workers,
        threads=contender.threads,
        manifest=kept_of(contender),
    )
