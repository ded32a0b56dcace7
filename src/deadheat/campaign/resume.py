"""A stored run that goes on: what it was to do, what it has done, and who may go on with it."""

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deadheat.build.builder import Builder, Built
from deadheat.build.prepare import prepare
from deadheat.campaign.entry import keep_build
from deadheat.campaign.past import Past, load_past
from deadheat.campaign.schedule import steps_left
from deadheat.catalog import Selection
from deadheat.errors import DeadheatError
from deadheat.events import Event, Listener
from deadheat.measure.contender import NULL_SERVER, REFERENCE, Contender, contender_from
from deadheat.measure.starter import Entrant
from deadheat.measure.world import World
from deadheat.protocol import Protocol, stored_protocol
from deadheat.store import Store

ENDED = ("why", "share", "look")  # what a conclusion says of an end that is none any more
CONTENDERS = """
    SELECT contender.*, build.key FROM contender LEFT JOIN build ON build.id = build_id
    WHERE run_id = ? ORDER BY position
"""
AFRESH = "measure it in a run of its own"


@dataclass(frozen=True, slots=True)
class Kept:
    """A contender's row. `key` is of its build, None where it had none."""

    id: int
    name: str
    server: str
    setting: str
    label: str | None
    role: str
    workers: int
    key: str | None
    manifest: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A run as it was left."""

    id: str
    protocol: Protocol
    seed: int
    command: tuple[str, ...]
    generator_version: str
    writer: str  # its column's text
    machines: Mapping[str, tuple[Any, ...]]  # role -> what must be the same
    conclusion: Mapping[str, Any]
    contenders: Mapping[str, Kept]
    past: Past
    ended_at: datetime.datetime

    @property
    def labels(self) -> dict[str, str]:
        """Contender -> published row."""
        return {one.name: one.label for one in self.contenders.values() if one.label}

    @property
    def waiting(self) -> list[Kept]:
        """The rivals with something left to do: in a race all of them."""
        contenders = [one for one in self.contenders.values() if one.role == "contender"]
        if self.protocol.residency == "frozen":
            return contenders
        return [
            one
            for one in contenders
            if any(steps_left(self.protocol, self.labels, one.name, self.past))
        ]

    def resumed(self) -> dict[str, Any]:
        """The conclusion so far, with this resumption; `paused_s` is what lay between."""
        now = datetime.datetime.now(datetime.UTC)
        one = {
            "at": now.isoformat(timespec="seconds"),
            "trials": len(self.past.trials),
            "paused_s": max(0.0, (now - self.ended_at).total_seconds()),
        }
        told = {name: value for name, value in self.conclusion.items() if name not in ENDED}
        return told | {"resumed": [*told.get("resumed", ()), one]}

    def require_same(self, world: World) -> None:
        """Raises `DeadheatError` where other means would measure what is left."""
        here = f"{world.generator.name} {world.generator_version}"
        if here != self.generator_version:
            raise DeadheatError(
                f"run {self.id} was measured with {self.generator_version}, and here is {here}",
                "start a run of its own",
            )
        hosts = {"server": world.server_host, "load": world.load_host}
        cpus = {"server": world.server_cpus, "load": world.load_cpus}
        for role, machine in self.machines.items():
            if _machine(hosts[role].fingerprint(), cpus[role]) != machine:
                raise DeadheatError(
                    f"run {self.id} was measured on another machine or on other CPUs ({role})",
                    "resume it there, or start a run of its own",
                )


def load_unfinished(store: Store, run_id: str) -> Unfinished:
    """Read a run to go on with. Raises `DeadheatError` where that is no `deadheat run` of ours."""
    (run,) = store.rows("SELECT * FROM run WHERE id = ?", run_id)
    command = tuple(json.loads(run["command"]))
    conclusion = json.loads(run["conclusion"] or "{}")
    if command[1:2] != ("run",) or "imported" in conclusion:
        raise DeadheatError(
            f"--resume {run_id}: only what `deadheat run` has measured here goes on",
            "start it again",
        )
    protocol = stored_protocol(run_id, run["protocol"])
    contenders = {row["name"]: _kept(row) for row in store.rows(CONTENDERS, run_id)}
    last = NULL_SERVER if protocol.residency == "alone" else REFERENCE  # to be entered
    if not contenders or (protocol.controls and last not in contenders):
        raise DeadheatError(
            f"run {run_id} was left before its contenders were entered", "start it again"
        )
    past = load_past(store, run_id)
    paused_s = sum(one["paused_s"] for one in conclusion.get("resumed", ()))
    started_at = datetime.datetime.fromisoformat(run["started_at"])
    seen_s = datetime.timedelta(seconds=past.elapsed_s + paused_s)
    return Unfinished(
        id=run_id,
        protocol=protocol,
        seed=run["seed"],
        command=command,
        generator_version=run["generator_version"],
        writer=run["writer"],
        machines={
            row["role"]: _machine(json.loads(row["fingerprint"]), json.loads(row["cpus"]))
            for row in store.rows("SELECT * FROM host WHERE run_id = ?", run_id)
        },
        conclusion=conclusion,
        contenders=contenders,
        past=past,
        ended_at=datetime.datetime.fromisoformat(run["ended_at"])
        if run["ended_at"]
        else started_at + seen_s,
    )


def enter_again(
    run: Unfinished,
    selections: Sequence[Selection],
    controls: Sequence[Contender],
    world: World,
    store: Store,
    builder: Builder,
    listen: Listener,
) -> list[Entrant]:
    """Build `selections`, who stand for those waiting, and enter those that are what they were.

    The others are told, and keep what they have. Raises `DeadheatError` where none is left.
    """
    entrants = []
    candidates = prepare(selections, world.server_host, builder, listen)
    for kept, candidate in zip(run.waiting, candidates, strict=True):
        built, fault = candidate.built, candidate.fault
        if built is not None and (fault := _changed(kept, candidate.selection, built)) is None:
            build_id = keep_build(store, built)
            store.update_contender(kept.id, build_id=build_id, version=candidate.version)
            entrants.append(Entrant(contender_from(candidate.selection, built), kept.id))
        elif built is not None:
            listen(Event(f"{kept.name} does not go on: {fault}\n  {AFRESH}", trouble=True))
        store.update_contender(kept.id, fault=fault)
    if run.waiting and not entrants:
        raise DeadheatError(
            f"no contender of run {run.id} can go on", "the reasons stand above; start it again"
        )
    return [*entrants, *(Entrant(one, run.contenders[one.name].id) for one in controls)]


def _changed(kept: Kept, selection: Selection, built: Built) -> str | None:
    """Why a contender is not the one that was measured before."""
    manifest = selection.server.manifest.model_dump(by_alias=True)
    if json.loads(json.dumps(manifest)) != kept.manifest:
        return "its server.toml has changed since this run began"
    if kept.key is not None and built.key != kept.key:
        return f"its build has changed since this run began: it was {kept.key}, now {built.key}"
    return None


def _kept(row: Mapping[str, Any]) -> Kept:
    names = ("id", "name", "server", "setting", "label", "role", "workers", "key")
    return Kept(**{name: row[name] for name in names}, manifest=json.loads(row["manifest"]))


def _machine(fingerprint: Mapping[str, Any], cpus: Sequence[int]) -> tuple[Any, ...]:
    cpu = fingerprint["cpu"]
    return (cpu.get("model"), cpu.get("logical"), fingerprint.get("kernel"), tuple(cpus))
