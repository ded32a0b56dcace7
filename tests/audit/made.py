"""Replays and figures for tests: pure values, no store."""

from collections.abc import Mapping, Sequence
from typing import Any

from deadheat.audit.beside import Case
from deadheat.audit.replay import Replay, ReplayedContender, ReplayedTrial
from deadheat.protocol import AloneProtocol
from deadheat.protocol.figures import Figure, PublishedFigures
from deadheat.store.json_columns import Behavior

Rates = Mapping[str, Sequence[float]]


def protocol(**values: Any) -> AloneProtocol:
    origin = {
        "figures": "paper",
        "command": "wrk -c 100",
        "body": "Hello",
        "client_host": "another",
        "server": "a machine",
        "sources": ["a page"],
        **values.pop("origin", {}),
    }
    return AloneProtocol.model_validate(
        {
            "name": "paper",
            "about": "For a test.",
            "generator": "wrk",
            "connections": [100],
            "duration_s": 10.0,
            "kind": "alone",
            "aggregate": "best",
            "warmup": {"kind": "none"},
            "stopping": {"kind": "fixed", "repetitions": 3},
            "origin": origin,
            **values,
        }
    )


def trial(
    rate: float | None, repetition: int = 1, connections: int = 100, **values: Any
) -> ReplayedTrial:
    made: dict[str, Any] = {
        "id": repetition,
        "connections": connections,
        "repetition": repetition,
        "reason": None if rate else "it died",
        "rate_per_s": rate,
        "requests": round((rate or 0) * 10),
        "elapsed_s": 10.0,
        "cpus_used": 1.0,
        "memory_peak_bytes": 1 << 20,
        "errors": {},
        "gates_failed": {},
        "served": None,
    }
    return ReplayedTrial(**made | values)


def contender(row: str, rates: Sequence[float], **values: Any) -> ReplayedContender:
    trials = tuple(trial(rate, number) for number, rate in enumerate(rates, start=1))
    made: dict[str, Any] = {
        "name": row.lower(),
        "row": row,
        "workers": 1,
        "fault": None,
        "behavior": Behavior(keep_alive=True, head_bytes=100),
        "trials": trials,
        "recoveries": {},
    }
    return ReplayedContender(**made | values)


def replay(contenders: Sequence[ReplayedContender], **values: Any) -> Replay:
    made: dict[str, Any] = {
        "run_id": "20261120-130405-a1b2",
        "started_at": "2026-11-20T13:04:05+00:00",
        "state": "complete",
        "protocol": protocol(),
        "command": ("deadheat", "run", "--protocol", "paper"),
        "deadheat_version": "0",
        "generator_version": "wrk 4",
        "hosts": {},
        "cpus": {},
        "contenders": tuple(contenders),
        "null_server": None,
        "missing": {},
    }
    return Replay(**made | values)


def figure(row: str, rate: float | None, connections: int = 100, **values: Any) -> Figure:
    return Figure(row, connections, rate, 1.0, "a page", **values)


def figures(*items: Figure) -> PublishedFigures:
    return PublishedFigures("paper", items)


def case(
    contenders: Sequence[ReplayedContender],
    published: Sequence[Figure],
    repetitions: Sequence[Figure] = (),
    **values: Any,
) -> Case:
    single = figures(*repetitions) if repetitions else None
    return Case(replay(contenders, **values), figures(*published), single)
