"""`Unfinished`: a stored run to resume, what is left of it, and what must not have changed."""

import datetime
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deadheat.build.builder import Builder, Built
from deadheat.campaign.entry import build_contenders, keep_build
from deadheat.campaign.past import Extension, Past
from deadheat.campaign.schedule import steps_left
from deadheat.catalog import Selection
from deadheat.errors import DeadheatError
from deadheat.events import Event, Listener
from deadheat.host.fingerprint import Fingerprint
from deadheat.measure.contender import NULL_SERVER, REFERENCE, Contender, contender_from
from deadheat.measure.warm_up import EnteredContender
from deadheat.measure.world import World, by_role
from deadheat.protocol import AloneProtocol, RateProtocol, Settle, SliceProtocol
from deadheat.stats.ranking.ranks import Decided
from deadheat.store import Conclusion, Resumption, Store, StoredRun, read_run
from deadheat.store.json_columns import DecidedPair
from deadheat.store.listing import kept_options
from deadheat.store.rows import StoredContender
from deadheat.workload import Level, over

NEW_RUN = "start a new run"
RESUMABLE = ("run", "explain", "footprint")  # commands
# What says where a command measures; it has to be given again when its run goes on.
PLACE = ("--server-host", "--load-host", "--server-address", "--runtime", "--base-image")


def place_options(command: Sequence[str]) -> list[str]:
    """The options of a command that say where it measures."""
    return kept_options(command, PLACE, ("--isolate",))


def can_resume(command: Sequence[str]) -> bool:
    """Whether a run of this command can go on after an early end."""
    return any(word in RESUMABLE for word in command[1:2])


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A run as it was left."""

    run: StoredRun
    protocol: SliceProtocol | AloneProtocol  # the one that it stored
    past: Past
    more_s: float | None = None  # of an extension that begins now

    @property
    def id(self) -> str:
        return self.run.id

    @property
    def labels(self) -> dict[str, str]:
        """Contender -> published row."""
        return {each.name: each.label for each in self.run.contenders if each.label}

    @property
    def waiting(self) -> list[StoredContender]:
        """The contenders with something left to do.

        In a race these are all of them, and after it those that took part.
        """
        contenders = [each for each in self.run.contenders if each.role == "contender"]
        if isinstance(self.protocol, SliceProtocol):
            return [each for each in contenders if not (self.race_ended and each.fault)]
        return [
            contender
            for contender in contenders
            if any(steps_left(self.protocol, self.labels, contender.name, self.past))
        ]

    @property
    def race_ended(self) -> bool:
        """Whether the race had its last look: only what follows a race is left."""
        return self.more_s is None and self.run.conclusion.share is not None

    def entered(self, contender: Contender, contender_id: int) -> EnteredContender:
        """A contender of the run again, without the workloads that it answered wrong."""
        instances = [each for each in self.run.instances if each.contender_id == contender_id]
        left_out = frozenset(name for each in instances for name in each.workload_faults)
        return EnteredContender(replace(contender, left_out=left_out), contender_id)

    @property
    def ended_at(self) -> datetime.datetime:
        """When it ended; for a run without an end, when its last trial did."""
        measured_s = self.past.elapsed_s + self.run.conclusion.paused_s
        measured = datetime.timedelta(seconds=measured_s)
        return self.run.ended_at or self.run.started_at + measured

    def resumed(self) -> Conclusion:
        """The conclusion so far, with this resumption; `paused_s` is the time since the end."""
        now = datetime.datetime.now(datetime.UTC)
        extension = self.past.extension
        begun = None if self.more_s is None else extension
        resumption = Resumption(
            at=now.replace(microsecond=0),
            trials=len(self.past.trials),
            paused_s=max(0.0, (now - self.ended_at).total_seconds()),
            look=self.past.look,
            more_s=self.more_s,
            until_s=begun.until_s if begun else None,
            share=begun.share if begun else None,
        )
        decided = [
            DecidedPair(
                workload=level.workload,
                connections=level.connections,
                faster=faster,
                slower=slower,
                verdict=verdict,
            )
            for level, verdicts in (extension.decided if extension else {}).items()
            for (faster, slower), verdict in verdicts.items()
        ]
        before = self.run.conclusion
        kept = before if self.race_ended else before.without_end()
        return kept.changed(resumed=(*kept.resumed, resumption), decided=tuple(decided))

    def extended(self, more_s: float, decided: Mapping[Level, Decided]) -> "Unfinished":
        """The same run with more time; `decided` has the verdicts of its last look by level.

        Raises `DeadheatError` if the run has not spent its budget.
        """
        why = self.run.conclusion.why
        if isinstance(self.protocol, RateProtocol):
            raise DeadheatError(
                f"--more: run {self.id} is one at offered rates, which has one look, at its end",
                f"{NEW_RUN} with a longer --budget",
            )
        if not isinstance(stopping := self.protocol.stopping, Settle):
            repetitions = stopping.repetitions
            raise DeadheatError(
                f"--more: run {self.id} had a fixed number of repetitions ({repetitions})",
                f"{NEW_RUN} with more --repetitions",
            )
        if why == "settled":
            raise DeadheatError(
                f"--more: run {self.id} is settled: no neighboring pair is open",
                f"for smaller differences, {NEW_RUN} with a smaller --margin",
            )
        if why != "budget spent":
            raise DeadheatError(f"--more: run {self.id} ended early: {why}", NEW_RUN)
        before = self.past.extension
        extension = Extension(
            number=1 if before is None else before.number + 1,
            until_s=self.past.elapsed_s + more_s,
            share=self.run.conclusion.share_of_error,
            decided=decided,
        )
        return replace(self, past=replace(self.past, extension=extension), more_s=more_s)

    def require_same(self, world: World) -> None:
        """Raises `DeadheatError` if the generator, a machine or its CPUs have changed."""
        here = f"{world.generator.name} {world.generator_version}"
        if here != self.run.generator_version:
            raise DeadheatError(
                f"run {self.id} was measured with {self.run.generator_version}, and here is {here}",
                NEW_RUN,
            )
        loads = {role: (side.host, side.cpus) for role, side in by_role(world.loads).items()}
        hosts = {"server": (world.server_host, world.server_cpus), **loads}
        if len(hosts) != len(self.run.hosts):
            raise DeadheatError(
                f"run {self.id} was measured with {len(self.run.hosts) - 1} load hosts, "
                f"and here are {len(loads)}",
                f"name the same hosts, or {NEW_RUN}",
            )
        for host in self.run.hosts:
            machine, cpus = hosts[host.role]
            before, now = host.fingerprint, machine.fingerprint()
            if now.network != before.network:
                isolated = before.network is not None
                raise DeadheatError(
                    f"run {self.id} was measured {'with' if isolated else 'without'} --isolate",
                    f"{'give' if isolated else 'omit'} --isolate, or {NEW_RUN}",
                )
            if _machine(now, cpus) != _machine(before, host.cpus):
                raise DeadheatError(
                    f"run {self.id} was measured on another machine or other CPUs, "
                    f"or its idle CPUs slept in another way ({host.role})",
                    f"resume it there, or {NEW_RUN}",
                )


def load_unfinished(store: Store, run_id: str) -> Unfinished:
    """Read a run to resume. Raises `DeadheatError` if it cannot be resumed here.

    That needs a run of this machine, not an imported one, whose contenders were entered.
    """
    run = read_run(store, run_id, with_secrets=True)
    if not can_resume(run.command) or run.conclusion.imported is not None:
        raise DeadheatError(
            f"run {run_id}: only what `deadheat run`, `explain` or `footprint` measured here "
            "can be resumed",
            NEW_RUN,
        )
    protocol = run.protocol
    names = [contender.name for contender in run.contenders]
    if not isinstance(protocol, SliceProtocol | AloneProtocol):
        raise DeadheatError(
            f"run {run_id}: one of the kind {protocol.kind!r} cannot go on", NEW_RUN
        )
    control = NULL_SERVER if isinstance(protocol, AloneProtocol) else REFERENCE
    last = over(control, protocol.transports[-1])  # to be entered
    if not names or (protocol.controls and last not in names):
        raise DeadheatError(f"run {run_id} ended before all its contenders were stored", NEW_RUN)
    return Unfinished(run, protocol, Past.of(run))


def enter_again(
    run: Unfinished,
    selections: Sequence[Selection],
    extra: Sequence[Contender],
    world: World,
    store: Store,
    builder: Builder,
    listen: Listener,
) -> list[EnteredContender]:
    """Build `selections`, one for each contender waiting, and enter those that have not changed.

    `extra` are the user's own servers and the controls.

    The others keep their trials, and an event says why they are left out. Raises `DeadheatError`
    if no contender can be resumed.
    """
    entered = []
    candidates = build_contenders(selections, world.server_host, builder, listen)
    of_catalog = [stored for stored in run.waiting if not stored.is_own]
    for stored, candidate in zip(of_catalog, candidates, strict=True):
        built, fault = candidate.built, candidate.fault
        if built is not None and (fault := _change(stored, candidate.selection, built)) is None:
            build_id = keep_build(store, built)
            store.update_contender(stored.id, build_id=build_id, version=candidate.version)
            entered.append(run.entered(contender_from(candidate.selection, built), stored.id))
        elif run.more_s is not None:
            raise DeadheatError(
                f"--more: run {run.id} cannot be extended: {stored.name}: {fault}", NEW_RUN
            )
        elif built is not None:
            what = f"{stored.name} is not resumed: {fault}\n  hint: measure it in a new run"
            listen(Event(what, trouble=True))
        store.update_contender(stored.id, fault=fault)
    ids = {stored.name: stored.id for stored in run.run.contenders}
    entered += [run.entered(each, ids[each.name]) for each in extra]
    if run.waiting and all(each.contender.role == "control" for each in entered):
        raise DeadheatError(
            f"no contender of run {run.id} can be resumed; the reasons are above", NEW_RUN
        )
    return entered


def _change(stored: StoredContender, selection: Selection, built: Built) -> str | None:
    """How a contender differs from the one that was measured; None if it does not."""
    manifests = selection.server.manifest.model_dump(by_alias=True), stored.manifest.as_stored()
    now, then = (json.loads(json.dumps(each)) for each in manifests)
    if now != then:
        return "its server.toml has changed since this run began"
    if stored.build_key is not None and built.key != stored.build_key:
        return (
            "its build has changed since this run began: "
            f"it was {stored.build_key}, now {built.key}"
        )
    return None


def _machine(fingerprint: Fingerprint, cpus: Sequence[int]) -> tuple[Any, ...]:
    """What must be the same of a machine: CPUs, kernel, the CPUs used, and how idle ones wake."""
    cpu = fingerprint.cpu
    return (cpu.model, cpu.logical, fingerprint.kernel, cpu.idle.wake_up_us, tuple(cpus))
