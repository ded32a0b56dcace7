"""`Replay`: a stored replay as an audit reads it, with every trial, valid or not.

A trial with a failed gate counts too, because the published comparison had no gates. A rate is the
one that the generator printed, as on the published pages. It includes failed requests, which a
report leaves out; without any, an audit and a report of a run agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from deadheat.host.fingerprint import FarHost, Fingerprint
from deadheat.measure.contender import NULL_SERVER
from deadheat.protocol import StoredProtocol
from deadheat.report.model.view import AGGREGATES
from deadheat.store import Store, StoredRun, read_run
from deadheat.store.json_columns import Behavior
from deadheat.store.rows import StoredTrial


@dataclass(frozen=True, slots=True)
class ReplayedTrial:
    """One repetition. `rate_per_s` is what the generator printed; None if it failed."""

    id: int
    connections: int
    repetition: int
    reason: str | None  # why it failed
    rate_per_s: float | None
    requests: int  # as the generator counted them
    elapsed_s: float
    cpus_used: float | None  # by the server: CPU time over elapsed time
    memory_peak_bytes: int | None
    errors: Mapping[str, int]
    gates_failed: Mapping[str, float | None]  # code -> reading
    served: int | None  # connections that got an answer


@dataclass(frozen=True, slots=True)
class ReplayedContender:
    """The contender for a published row. `behavior` was recorded before its first trial."""

    name: str
    row: str
    workers: int
    fault: str | None
    behavior: Behavior
    trials: tuple[ReplayedTrial, ...]
    recoveries: Mapping[int, StoredTrial]  # of a decay study, by repetition

    def at(self, connections: int) -> tuple[ReplayedTrial, ...]:
        return tuple(trial for trial in self.trials if trial.connections == connections)

    def rates_at(self, connections: int) -> list[float]:
        """Requests/s of each repetition that has a rate."""
        return [t.rate_per_s for t in self.at(connections) if t.rate_per_s]


@dataclass(frozen=True, slots=True)
class Replay:
    """A stored run, with the protocol as it ran."""

    run_id: str
    started_at: str
    state: str
    protocol: StoredProtocol
    command: tuple[str, ...]
    deadheat_version: str
    generator_version: str
    hosts: Mapping[str, Fingerprint]  # by role
    cpus: Mapping[str, tuple[int, ...]]
    contenders: tuple[ReplayedContender, ...]
    null_server: ReplayedContender | None
    missing: Mapping[str, str]
    remarks: tuple[str, ...] = ()  # how the run differs from its protocol
    resumed: tuple[str, ...] = ()  # when it was resumed, with new processes
    target: str | None = None  # the first URL that was loaded

    @property
    def links(self) -> tuple[FarHost, ...]:
        """What is known of the links between its hosts; empty if it ran on one host."""
        return tuple(each.link for each in self.hosts.values() if each.link is not None)

    @property
    def is_one_machine(self) -> bool:
        """Whether its hosts are namespaces or containers of one machine."""
        return not self.links or any(link.same_machine for link in self.links)

    def rate(self, contender: ReplayedContender, connections: int) -> float | None:
        """The protocol's aggregate of the repetitions: the best, the mean or the median."""
        rates = contender.rates_at(connections)
        return AGGREGATES[self.protocol.aggregate](rates) if rates else None


def load_replay(store: Store, run_id: str) -> Replay:
    """The run of that id. Raises `DeadheatError` if its protocol cannot be read."""
    run = read_run(store, run_id)
    contenders = _contenders(run)
    roles = {contender.name: contender.role for contender in run.contenders}
    hosts = sorted(run.hosts, key=lambda host: host.role)
    return Replay(
        run_id=run.id,
        started_at=run.started_at.isoformat(),
        state=run.state,
        protocol=run.protocol,
        command=run.command,
        deadheat_version=run.deadheat_version,
        generator_version=run.generator_version,
        hosts={host.role: host.fingerprint for host in hosts},
        cpus={host.role: host.cpus for host in hosts},
        contenders=tuple(each for each in contenders if roles[each.name] == "contender"),
        null_server=next((each for each in contenders if each.name == NULL_SERVER), None),
        missing=run.conclusion.missing,
        remarks=run.conclusion.remarks,
        resumed=tuple(each.at.isoformat() for each in run.conclusion.resumed),
        target=next((w for t in run.trials for w in t.command if w.startswith("http://")), None),
    )


def _contenders(run: StoredRun) -> list[ReplayedContender]:
    trials: dict[int, list[ReplayedTrial]] = {}
    recoveries: dict[int, dict[int, StoredTrial]] = {}
    for stored in run.trials:
        if stored.kind == "measure":
            trials.setdefault(stored.contender_id, []).append(_trial(run, stored))
        elif stored.kind == "recovery":
            recoveries.setdefault(stored.contender_id, {})[stored.block] = stored
    behaviors: dict[int, Behavior] = {}
    for instance in run.instances:
        if instance.behavior is not None:
            behaviors.setdefault(instance.contender_id, instance.behavior)
    return [
        ReplayedContender(
            name=row.name,
            row=row.label or row.name,
            workers=row.workers,
            fault=row.fault,
            behavior=behaviors.get(row.id, Behavior()),
            trials=tuple(trials.get(row.id, ())),
            recoveries=recoveries.get(row.id, {}),
        )
        for row in run.contenders
    ]


def _printed_per_s(stored: StoredTrial, requests: int) -> float | None:
    """What the generator printed: the stored rate is of the right answers alone.

    `requests` over the seconds would differ: wrk rounds these.
    """
    if stored.rate_per_s and stored.requests_ok:
        return stored.rate_per_s * requests / stored.requests_ok
    return requests / stored.elapsed_s if stored.elapsed_s else None


def _trial(run: StoredRun, stored: StoredTrial) -> ReplayedTrial:
    result = stored.result
    requests = result.requests_sent_in_all or stored.requests_ok or 0
    rate_per_s = stored.rate_per_s
    if run.protocol.generator != "engine":
        rate_per_s = _printed_per_s(stored, requests)
    cpu_us = stored.server_cpu_us_per_request
    return ReplayedTrial(
        id=stored.id,
        connections=stored.connections,
        repetition=stored.block,
        reason=stored.reason,
        rate_per_s=rate_per_s if stored.state == "ok" else None,
        requests=requests,
        elapsed_s=stored.elapsed_s or 0.0,
        cpus_used=cpu_us * requests / 1e6 / stored.elapsed_s
        if cpu_us and stored.elapsed_s
        else None,
        memory_peak_bytes=stored.memory_peak_bytes,
        errors=run.errors.get(stored.id, {}),
        gates_failed={gate.code: gate.reading for gate in run.gates_failed.get(stored.id, ())},
        served=result.connections_served,
    )
