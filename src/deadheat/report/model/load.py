"""Reads a run out of the store."""

import datetime
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from deadheat.host.machine import host_key
from deadheat.report.model.evidence import build_of, raw_output
from deadheat.report.model.facts import OF_TRIALS, Facts, Row, grouped
from deadheat.report.model.published import published_rows
from deadheat.report.model.runs import state_of
from deadheat.report.model.view import (
    CalibrationView,
    Cell,
    ContenderView,
    HostView,
    OfferedCell,
    RunView,
    StartView,
    TrialView,
)
from deadheat.store import Store, StoreError

TRIALS = """
    SELECT id, contender_id, kind, invocation, block, heat, connections, offered_rate_per_s, at_s,
           command, state, reason, rate_per_s, requests_ok, elapsed_s, server_cpu_us_per_request,
           memory_peak_bytes, json_extract(result, '$.service_us') AS service_us
    FROM trial WHERE run_id = ? ORDER BY id
"""
GATES = OF_TRIALS.format(columns="DISTINCT code", table="gate") + " ORDER BY code"
STARTS = """
    SELECT instance.* FROM instance JOIN contender ON contender.id = instance.contender_id
    WHERE contender.run_id = ? ORDER BY instance.id
"""


def load_view(store: Store, run_id: str, *, whole: bool = False) -> RunView:
    """The run of that id, in whatever state it is. Raises `StoreError` where there is none.

    `whole`: with what the page and JSON alone show, and what takes the longest to read: series,
    time to first byte, builds and the tool's own output.
    """
    found = store.rows("SELECT * FROM run WHERE id = ?", run_id)
    if not found:
        raise StoreError(f"the store {store.path} has no run {run_id}")
    run = found[0]
    protocol = json.loads(run["protocol"])
    hosts = _hosts(store, run_id)
    trials = store.rows(TRIALS, run_id)
    contenders = _contenders(store, run_id, trials, whole)
    return RunView(
        run_id=run_id,
        started_at=datetime.datetime.fromisoformat(run["started_at"]),
        ended_at=datetime.datetime.fromisoformat(run["ended_at"]) if run["ended_at"] else None,
        state=state_of(run),
        last_trial_at_s=max((row["at_s"] for row in trials), default=None),
        protocol=protocol,
        command=tuple(json.loads(run["command"])),
        seed=run["seed"],
        deadheat_version=run["deadheat_version"],
        generator_version=run["generator_version"],
        conclusion=_json(run["conclusion"]) or {},
        hosts=hosts,
        levels=_levels(protocol, trials),
        contenders=tuple(one for one in contenders if one.role != "control"),
        controls=tuple(one for one in contenders if one.role == "control"),
        gates=tuple(row["code"] for row in store.rows(GATES, run_id)),
        calibration=_calibration(store, hosts),
    )


def _levels(protocol: Row, trials: Sequence[Row]) -> tuple[int, ...]:
    """The protocol's levels in its order, then any other that was measured."""
    measured = [row["connections"] for row in trials if row["kind"] == "measure"]
    return tuple(dict.fromkeys([*protocol.get("connections", ()), *sorted(measured)]))


def _hosts(store: Store, run_id: str) -> tuple[HostView, ...]:
    rows = store.rows("SELECT * FROM host WHERE run_id = ? ORDER BY role DESC", run_id)
    return tuple(
        HostView(row["role"], tuple(json.loads(row["cpus"])), json.loads(row["fingerprint"]))
        for row in rows
    )


def _contenders(
    store: Store, run_id: str, trials: Sequence[Row], whole: bool
) -> list[ContenderView]:
    rows = store.rows("SELECT * FROM contender WHERE run_id = ? ORDER BY position, id", run_id)
    starts = grouped(store.rows(STARTS, run_id), "contender_id")
    trials_of = grouped(trials, "contender_id")
    facts = Facts(store, run_id, whole)
    return [_contender(row, starts[row["id"]], trials_of[row["id"]], facts) for row in rows]


def _contender(
    row: Row, starts: Sequence[Row], trials: Sequence[Row], facts: Facts
) -> ContenderView:
    manifest = json.loads(row["manifest"])
    measured = [trial for trial in trials if trial["kind"] == "measure"]
    return ContenderView(
        name=row["name"],
        server=row["server"],
        setting=row["setting"],
        label=row["label"],
        role=row["role"],
        workers=row["workers"],
        threads=row["threads"],
        version=row["version"],
        language=manifest.get("language"),
        framework=manifest.get("framework"),
        kind=manifest.get("kind"),
        fault=row["fault"],
        starts=tuple(_start(start) for start in starts),
        cells={
            level: _cell(level, rows, facts)
            for level, rows in grouped(measured, "connections").items()
        },
        offered=_offered([trial for trial in trials if trial["offered_rate_per_s"]], facts),
        homepage=manifest.get("homepage"),
        notes=_notes(manifest),
        published=published_rows(manifest),
        build=build_of(facts.store, row["build_id"]) if facts.whole else None,
        raw_output=raw_output(facts.store, trials) if facts.whole else None,
    )


def _notes(manifest: Row) -> tuple[str, ...]:
    """The manifest's own, and whether its recipe was only ever tried in another way."""
    verified = manifest.get("verified")
    tried = [f"a recipe, verified against {verified}"] if verified else []
    return (*manifest.get("notes", ()), *tried)


def _cell(connections: int, rows: Sequence[Row], facts: Facts) -> Cell:
    trials = tuple(facts.trial(row) for row in rows)
    counted = _counted(rows, trials)
    return Cell(
        connections=connections,
        trials=trials,
        service=facts.distribution(counted, "service_us"),
        first_byte=facts.distribution(counted, "first_byte_us"),
    )


def _counted(rows: Sequence[Row], trials: Sequence[TrialView]) -> list[Row]:
    """The rows of the valid trials; if there are none, of the measured ones (as in `Cell`)."""
    pairs = list(zip(rows, trials, strict=True))
    valid = [row for row, trial in pairs if trial.valid]
    return valid or [row for row, trial in pairs if trial.measured]


def _offered(rows: Sequence[Row], facts: Facts) -> tuple[OfferedCell, ...]:
    """The open-loop trials, by level and offered rate."""
    groups: defaultdict[tuple[str, int, float], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["kind"], row["connections"], row["offered_rate_per_s"]].append(row)
    cells = []
    for (kind, connections, offered_rate_per_s), group in sorted(groups.items()):
        trials = tuple(facts.trial(row) for row in group)
        counted = _counted(group, trials)
        elapsed_s = sum(row["elapsed_s"] or 0 for row in counted)
        requests = sum(row["requests_ok"] or 0 for row in counted)
        cells.append(
            OfferedCell(
                kind=kind,
                connections=connections,
                offered_rate_per_s=offered_rate_per_s,
                achieved_rate_per_s=requests / elapsed_s if elapsed_s else None,
                trials=trials,
                response=facts.distribution(counted, "response_us"),
                first_byte=facts.distribution(counted, "first_byte_us"),
            )
        )
    return tuple(cells)


def _start(row: Row) -> StartView:
    return StartView(
        invocation=row["invocation"],
        ready_s=row["ready_s"],
        behavior=_json(row["behavior"]),
        steady=_json(row["steady"]),
        fault=row["fault"],
        log_tail=row["log_tail"],
        command=tuple(json.loads(row["command"])),
        ended=_json(row["ended"]),
    )


def _calibration(store: Store, hosts: Sequence[HostView]) -> CalibrationView | None:
    """The newest calibration of a machine like the run's server host."""
    query = "SELECT at, result FROM calibration WHERE host_key = ? ORDER BY id DESC LIMIT 1"
    for host in hosts:
        if host.role == "server":
            for row in store.rows(query, host_key(host.fingerprint)):
                return CalibrationView(row["at"], json.loads(row["result"]))
    return None


def _json(text: str | None) -> Any:
    return json.loads(text) if text else None
