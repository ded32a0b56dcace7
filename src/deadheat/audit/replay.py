"""A stored replay as an audit reads it: every trial of every contender, valid or not.

Nothing is left out for a gate that failed, because the published comparison had none. A rate is
what wrk or ab printed, errors and all, because that is what was published.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deadheat.measure.contender import NULL_SERVER
from deadheat.protocol import Protocol, stored_protocol
from deadheat.report.model.runs import state_of
from deadheat.report.model.view import AGGREGATES
from deadheat.store import Store

TRIALS = """
    SELECT id, contender_id, connections, block, state, reason, rate_per_s, requests_ok, elapsed_s,
           server_cpu_us_per_request, memory_peak_bytes, result
    FROM trial WHERE run_id = ? AND kind = 'measure' ORDER BY id
"""
OF_RUN = " WHERE trial_id IN (SELECT id FROM trial WHERE run_id = ?)"
CARDS = """
    SELECT contender_id, behavior FROM instance WHERE behavior IS NOT NULL
    AND contender_id IN (SELECT id FROM contender WHERE run_id = ?) ORDER BY id DESC
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """One repetition. `rate_per_s` is as the generator printed it, None where it printed none."""

    id: int
    connections: int
    repetition: int
    reason: str | None  # why it failed
    rate_per_s: float | None
    requests: int  # as the generator counts them
    elapsed_s: float
    cpus_used: float | None  # by the server: CPU time over time
    memory_peak_bytes: int | None
    errors: Mapping[str, int]
    gates_failed: Mapping[str, float | None]  # code -> reading
    bytes_in: int | None
    served: int | None  # connections that were answered


@dataclass(frozen=True, slots=True)
class Contender:
    """What ran for a published row. `card` is how it behaved before the first trial."""

    name: str
    row: str
    role: str
    workers: int
    version: str | None
    fault: str | None
    behavior: Mapping[str, Any]
    trials: tuple[Trial, ...]

    def at(self, connections: int) -> tuple[Trial, ...]:
        return tuple(trial for trial in self.trials if trial.connections == connections)

    def rates_at(self, connections: int) -> list[float]:
        """Requests/s of each repetition that gave any."""
        return [t.rate_per_s for t in self.at(connections) if t.rate_per_s]


@dataclass(frozen=True, slots=True)
class Replay:
    """A stored run, with the protocol as it ran."""

    run_id: str
    started_at: str
    state: str
    protocol: Protocol
    command: tuple[str, ...]
    deadheat_version: str
    generator_version: str
    hosts: Mapping[str, Mapping[str, Any]]  # role -> fingerprint
    cpus: Mapping[str, tuple[int, ...]]
    contenders: tuple[Contender, ...]
    null_server: Contender | None
    missing: Mapping[str, str]
    remarks: tuple[str, ...] = ()  # where the machine could not do as the protocol says
    resumed: tuple[str, ...] = ()  # when it went on after an early end, with fresh processes

    def rate(self, one: Contender, connections: int) -> float | None:
        """The protocol's aggregate of the repetitions: the best, the mean or the median."""
        rates = one.rates_at(connections)
        return AGGREGATES[self.protocol.aggregate](rates) if rates else None


def load_replay(store: Store, run_id: str) -> Replay:
    """The run of that id. Raises `DeadheatError` where its protocol cannot be read any more."""
    (run,) = store.rows("SELECT * FROM run WHERE id = ?", run_id)
    protocol = stored_protocol(run_id, run["protocol"])
    contenders = _contenders(store, run_id, protocol)
    hosts = store.rows("SELECT * FROM host WHERE run_id = ?", run_id)
    conclusion = json.loads(run["conclusion"]) if run["conclusion"] else {}
    return Replay(
        run_id=run_id,
        started_at=run["started_at"],
        state=state_of(run),
        protocol=protocol,
        command=tuple(json.loads(run["command"])),
        deadheat_version=run["deadheat_version"],
        generator_version=run["generator_version"],
        hosts={host["role"]: json.loads(host["fingerprint"]) for host in hosts},
        cpus={host["role"]: tuple(json.loads(host["cpus"])) for host in hosts},
        contenders=tuple(one for one in contenders if one.role == "contender"),
        null_server=next((one for one in contenders if one.name == NULL_SERVER), None),
        missing=conclusion.get("missing", {}),
        remarks=tuple(conclusion.get("remarks", ())),
        resumed=tuple(one["at"] for one in conclusion.get("resumed", ())),
    )


def _contenders(store: Store, run_id: str, protocol: Protocol) -> list[Contender]:
    errors: dict[int, dict[str, int]] = {}
    for row in store.rows("SELECT * FROM error" + OF_RUN, run_id):
        errors.setdefault(row["trial_id"], {})[row["class"]] = row["requests"]
    gates: dict[int, dict[str, float | None]] = {}
    for row in store.rows("SELECT * FROM gate" + OF_RUN + " AND NOT passed", run_id):
        gates.setdefault(row["trial_id"], {})[row["code"]] = row["reading"]
    trials: dict[int, list[Trial]] = {}
    for row in store.rows(TRIALS, run_id):
        one = _trial(row, protocol, errors.get(row["id"], {}), gates.get(row["id"], {}))
        trials.setdefault(row["contender_id"], []).append(one)
    behaviors = {
        row["contender_id"]: json.loads(row["behavior"]) for row in store.rows(CARDS, run_id)
    }
    rows = store.rows("SELECT * FROM contender WHERE run_id = ? ORDER BY position", run_id)
    return [
        Contender(
            name=row["name"],
            row=row["label"] or row["name"],
            role=row["role"],
            workers=row["workers"],
            version=row["version"],
            fault=row["fault"],
            behavior=behaviors.get(row["id"], {}),
            trials=tuple(trials.get(row["id"], ())),
        )
        for row in rows
    ]


def _trial(
    row: Mapping[str, Any],
    protocol: Protocol,
    errors: Mapping[str, int],
    gates: Mapping[str, float | None],
) -> Trial:
    result = json.loads(row["result"] or "{}")
    requests = result.get("requests_sent_in_all") or row["requests_ok"] or 0
    rate_per_s = row["rate_per_s"]
    if protocol.generator != "engine" and row["elapsed_s"]:
        rate_per_s = requests / row["elapsed_s"]
    cpu_us = row["server_cpu_us_per_request"]
    return Trial(
        id=row["id"],
        connections=row["connections"],
        repetition=row["block"],
        reason=row["reason"],
        rate_per_s=rate_per_s if row["state"] == "ok" else None,
        requests=requests,
        elapsed_s=row["elapsed_s"] or 0.0,
        cpus_used=cpu_us * requests / 1e6 / row["elapsed_s"]
        if cpu_us and row["elapsed_s"]
        else None,
        memory_peak_bytes=row["memory_peak_bytes"],
        errors=errors,
        gates_failed=gates,
        bytes_in=result.get("bytes_in"),
        served=result.get("connections_served"),
    )
