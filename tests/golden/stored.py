"""The stored runs that golden files are made from: bundles of docs/results, and made runs."""

import datetime
import itertools
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from deadheat.store import Gate
from tests.report.made import QUICK, SETTLE, MadeRun, failed, histogram, made_run
from tests.report.sliced import SLICED, sliced_race

WORKLOADS = {**SETTLE, "workloads": [{"name": "hello"}, {"name": "route"}]}
LOST = Gate("retransmits", False, 19.1, 2.13, "per_10k", "segments were lost: see the network")
BUNDLES = Path(__file__).resolve().parents[2] / "docs" / "results"
REPLAY, AGAIN, DECAY = (BUNDLES / f"{n}.deadheat" for n in ("woo-2016", "woo-2016-again", "decay"))
REPLAY_ID, AGAIN_ID = "20261120-202330-840e", "20261120-204741-742b"
OF_A_RUN = ("host", "contender", "trial")  # tables that name a run
CARD = {
    "status": 200, "media_type": "text/plain", "body_bytes": 13, "framing": "content-length",
    "head_bytes": 102, "date": True, "server_header": None, "keep_alive": True,
    "close_honored": True, "http_1_0": "closes", "head": "empty", "pipelined": 2,
    "unknown_path": 404, "fault": None,
}  # fmt: skip


def make_runs(path: Path) -> dict[str, str]:
    """A store of one run of each kind; the id of each by its kind."""
    first = made_run(path, protocol=SETTLE)
    runs = {"settle": _settle(first)}
    runs["again"] = _settle(MadeRun(first.store, protocol=SETTLE, seed=8))
    levels = {**QUICK, "connections": [10, 100, 1000]}
    runs["levels"] = _levels(MadeRun(first.store, protocol=levels, cpus=4))
    runs["invalid"] = _invalid(MadeRun(first.store, protocol=QUICK))
    runs["interrupted"] = _interrupted(MadeRun(first.store, protocol=SETTLE))
    runs["empty"] = MadeRun(first.store, protocol=SETTLE).end("failed", "nothing started")
    runs["capacity"] = _capacity(MadeRun(first.store, cpus=2))
    runs["workloads"] = _workloads(MadeRun(first.store, protocol=WORKLOADS))
    runs["close"] = _close(MadeRun(first.store, protocol=SETTLE))
    runs["noisy"] = _noisy(MadeRun(first.store, protocol=SLICED))
    runs["pauses"] = _pauses(MadeRun(first.store, protocol=SLICED))
    runs = {"explain": _explain(MadeRun(first.store, cpus=2)), **runs}
    first.store.close()
    return dict(zip(runs, _dated(path, list(runs.values())), strict=True))


def copies_run(path: Path) -> str:
    """A store of one race of `deadheat calibrate --copies 10`; its id."""
    names = [f"copy-{number:02}" for number in range(1, 11)]
    slower = {f"slower-{share:.0%}": 9000.0 / (1 + share) for share in (0.02, 0.03, 0.05, 0.1)}
    run = made_run(path, protocol=SETTLE)
    run.race({**dict.fromkeys(names, 9000.0), **slower}, noise=0.005)
    return run.end()


def _noisy(run: MadeRun) -> str:
    """A race in slices of which too few trials are valid for any interval."""
    rates = {"alpha": 118_466.0, "beta": 117_000.0, "gamma": 5302.0}
    return sliced_race(run, rates, apart=0.15, valid_blocks={"alpha": 2, "beta": 1, "gamma": 1})


def _pauses(run: MadeRun) -> str:
    """A race in slices with a server that pauses."""
    calm, pausing = (
        {"paused_s": paused_s, "longest_pause_us": longest_us}
        for paused_s, longest_us in ((0.0002, 5000.0), (0.02, 213_000.0))
    )
    paused = {"alpha": calm, "beta": calm, "gamma": pausing}
    return sliced_race(run, {"alpha": 9000.0, "beta": 7000.0, "gamma": 3000.0}, paused=paused)


def _explain(run: MadeRun) -> str:
    """Two servers that were explained: one with many signs of mistakes, one without any."""
    poor = {"calls": {"poll": 1.0, "accept4": 1.0, "write": 7.0}, "backlog": 5}
    good = {"calls": {"read": 1.0}, "allocated_bytes": 1330.4}
    for name, user_us, counts in (("good", 20.0, good), ("poor", 40.0, poor)):
        old = {"language": "Ruby", "support": {"7.1": "2025-10-01"}} if counts is poor else {}
        run.contender(name, manifest=old or {"language": "Go"}, version="7.1.5")
        for number in (1, 2, 3):
            command = [name, "--debug"] if counts is poor else [name]
            start = run.start(name, number, command=command, behavior=CARD)
            parts = {"user_us": user_us + number, "system_us": 10.0, "data_packets_in": 1.0}
            result = {"per_request": parts}
            run.trial(name, 1000.0, invocation=number, instance_id=start, result=result)
        counted = {"rate_per_s": 1000.0, "traced_rate_per_s": 100.0, **counts}
        stacks = [
            ["server;runtime.gcBgMarkWorker", 60 if counts is poor else 5],
            ["server;poll", 90],
        ]
        explained = {"explained": counted}
        run.trial(name, 1000.0, kind="explain", result=explained, series={"stacks": stacks})
    return run.end()


def _close(run: MadeRun) -> str:
    """Two servers too close to settle in an hour, and two that a few minutes settle."""
    for name in ("alpha", "beta", "gamma", "delta"):
        run.contender(name)
    for at, (invocation, block) in enumerate(itertools.product(range(1, 4), range(1, 5))):
        place = {"invocation": invocation, "block": block, "at_s": 60.0 * at}
        sign = 1 if block % 2 else -1
        run.trial("alpha", 9000.0 * 1.015, **place)
        run.trial("beta", 9000.0 * 1.3**sign, **place)
        run.trial("gamma", 3000.0 * 1.03, **place)
        run.trial("delta", 3000.0 * 1.05**sign, **place)
    return run.end(why="budget spent")


def _workloads(run: MadeRun) -> str:
    """Six servers on two workloads; the last does not answer the second."""
    names = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
    for name in names:
        answered = ["hello"] if name == "zeta" else ["hello", "route"]
        run.contender(name, manifest={"language": "Go", "workloads": answered})
    rates = [9000.0, 8000.0, 6000.0, 5990.0, 3000.0, 1000.0]
    run.race(dict(zip(names, rates, strict=True)), workload="hello")
    routed = [4000.0, 5000.0, 3990.0, 2000.0, 1500.0]
    run.race(
        dict(zip(names, routed, strict=False)), workload="route", server_cpu_us_per_request=62.5
    )
    return run.end()


def _settle(run: MadeRun) -> str:
    """Two dead heats, one contender whose every trial failed a gate, one that never started."""
    for name in ("null-server", "reference"):
        run.contender(name, role="control", server=name)
    rates = {"alpha": 9000.0, "beta": 8990.0, "gamma": 6000.0, "delta": 3010.0, "epsilon": 3000.0}
    run.race(
        {"null-server": 90_000.0, "reference": 12_000.0, **rates, "stolen": 5000.0},
        gates_of={"stolen": failed()},
        noise=0.005,
    )
    run.contender("absent", fault="absent ended before it was ready (exit 1)\nno such file")
    run.trial("gamma", 5900.0, gates=[LOST], block=9)
    run.trial("delta", None, state="failed", reason="delta died under load (exit 7)", block=9)
    run.start("alpha", 4, behavior=CARD)
    return run.end()


def _levels(run: MadeRun) -> str:
    """Three levels, offered rates, errors, one server at three numbers of workers, a card each."""
    languages = {"alpha": ("Go", "net/http"), "beta": ("Rust", "hyper"), "gamma": ("Python", None)}
    for name, (language, framework) in languages.items():
        manifest = {"language": language, "framework": framework or "flask", "kind": "micro"}
        run.contender(name, manifest=manifest)
    workers = {1: "scaled", 2: "scaled:w2", 4: "scaled:w4"}
    for count, name in workers.items():
        run.contender(name, server="scaled", workers=count)
    scaling = {name: 2000.0 * count**0.8 for count, name in workers.items()}
    rates = {"alpha": 9000.0, "beta": 12_000.0, "gamma": 3000.0, **scaling}
    run.race(rates, invocations=1, blocks=3, levels=(10, 100, 1000))
    for name in languages:
        run.start(name, 2, behavior=CARD)
        for share in (0.5, 0.7, 0.9):
            _offered(run, name, "latency", share * rates[name], 1.0, round(1500 / (1 - share)))
    run.trial("gamma", 2500.0, connections=1000, block=4, errors={"connect_timeout": 12})
    return run.end(why="repetitions done")


def _invalid(run: MadeRun) -> str:
    """No trial is valid."""
    gates = (*failed("neighbor", 0.97), *failed())
    run.race(
        {"alpha": 9000.0, "beta": 8000.0},
        invocations=1,
        blocks=3,
        gates_of={"alpha": gates, "beta": gates},
    )
    return run.end(why="repetitions done")


def _interrupted(run: MadeRun) -> str:
    """Ended by the user in its second block."""
    run.race({"alpha": 9000.0, "beta": 8000.0}, invocations=1, blocks=2)
    return run.end("interrupted", "interrupted")


def _capacity(run: MadeRun) -> str:
    """One search that found a rate, one in which nothing held."""
    for name in ("alpha", "beta"):
        run.contender(name)
    for rate_per_s in (4500.0, 6000.0):
        _offered(run, "alpha", "capacity", rate_per_s, 0.99, 900)
    _offered(run, "beta", "capacity", 45.0, 0.99, 900, gates=failed("achieved"))
    holding = {"name": "alpha", "rate_per_s": 4500.0, "above_per_s": 6000.0, "trials": 2}
    none = {"name": "beta", "rate_per_s": 0.0, "above_per_s": 45.0, "trials": 1}
    capacities = [capacity | {"trouble": None} for capacity in (holding, none)]
    return run.end(why="done", slo="p99=10ms", capacities=capacities)


def _offered(
    run: MadeRun, name: str, kind: str, per_s: float, share: float, us: int, **values: Any
) -> None:
    """A trial at an offered rate, of which it answers a share; `us` is its median response time."""
    run.trial(
        name,
        share * per_s,
        kind=kind,
        offered_rate_per_s=per_s,
        requests_ok=round(0.5 * share * per_s),
        histograms={"response_us": histogram(20_000, us)},
        **values,
    )


def _dated(path: Path, run_ids: list[str]) -> list[str]:
    """Gives each run a day and an id that stay; returns the ids."""
    ids = []
    with closing(sqlite3.connect(path)) as connection, connection:
        for number, run_id in enumerate(run_ids):
            day = datetime.date(2025, 12, 31) + datetime.timedelta(days=number)
            ids.append(f"{day:%Y%m%d}-120000-{number:04x}")
            for table, column in (("run", "id"), *((t, "run_id") for t in OF_A_RUN)):
                statement = f"UPDATE {table} SET {column} = ? WHERE {column} = ?"
                connection.execute(statement, (ids[-1], run_id))
            connection.execute(
                "UPDATE run SET started_at = ?, ended_at = ? WHERE id = ?",
                (f"{day}T12:00:00+00:00", f"{day}T12:05:00+00:00", ids[-1]),
            )
    return ids
