"""A store of made runs: the rows of a real one, over and over."""

import json
import zlib
from dataclasses import dataclass
from itertools import count, cycle
from pathlib import Path
from typing import Any

from deadheat.host.fingerprint import Fingerprint
from deadheat.protocol import protocol_of
from deadheat.store import Conclusion, Gate, Store, TrialRecord
from deadheat.store.bundle import open_bundle

RUNS = 200
TRIALS = 20_000
CONTENDERS = 10  # of each run but the last
LAST = {"contenders": 60, "trials": 1_000}

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Model:
    """A real run. Its trials are records without the numbers that a store gives."""

    run: Row
    hosts: list[Row]
    builds: dict[int, Row]
    contenders: list[Row]
    starts: list[Row]
    trials: list[Row]


def make(path: Path, bundle: Path) -> Path:
    """Fill a new store."""
    model = read(bundle)
    each, rest = divmod(TRIALS - LAST["trials"], RUNS - 1)
    with Store(path) as store:
        for number in range(RUNS - 1):
            add_run(store, model, contenders=CONTENDERS, trials=each + (number < rest))
        add_run(store, model, **LAST)
    return path


def read(bundle: Path) -> Model:
    with open_bundle(bundle) as store:
        (run,) = store.rows("SELECT * FROM run")
        return Model(
            run=run,
            hosts=store.rows("SELECT role, cpus, fingerprint FROM host"),
            builds={row.pop("id"): row for row in store.rows("SELECT * FROM build")},
            contenders=store.rows("SELECT * FROM contender ORDER BY position"),
            starts=store.rows("SELECT * FROM instance ORDER BY id"),
            trials=[_trial(store, row) for row in store.rows("SELECT * FROM trial ORDER BY id")],
        )


def add_run(store: Store, model: Model, contenders: int, trials: int) -> None:
    """One run: the model's contenders under new names, taking turns in its trials."""
    run_id = store.begin_run(
        protocol=protocol_of(json.loads(model.run["protocol"])),
        command=json.loads(model.run["command"]),
        seed=model.run["seed"],
        deadheat_version=model.run["deadheat_version"],
        generator_version=model.run["generator_version"],
    )
    for host in model.hosts:
        fingerprint = Fingerprint.model_validate_json(host["fingerprint"])
        store.add_host(run_id, host["role"], json.loads(host["cpus"]), fingerprint)
    turns = [
        _Contender(store, model, run_id, position, position // len(model.contenders))
        for position in range(contenders)
    ]
    for number, turn in zip(range(trials), cycle(turns), strict=False):
        turn.trial(block=number // contenders + 1)
    conclusion = Conclusion.model_validate(json.loads(model.run["conclusion"]))
    store.end_run(run_id, "complete", conclusion)


class _Contender:
    """A contender of a made run, with its starts, and its trials as they come."""

    def __init__(self, store: Store, model: Model, run_id: str, position: int, copy: int) -> None:
        self._store = store
        self._run_id = run_id
        row = dict(model.contenders[position % len(model.contenders)])
        known = row.pop("id")
        build = model.builds.get(row["build_id"])
        changed = {
            "run_id": run_id,
            "position": position,
            "name": f"{row['name']}-{copy}" if copy else row["name"],
            "build_id": store.add_build(**build) if build else None,
        }
        self._number = store.add_contender(**row | changed)
        self._starts = [
            store.add_instance(**_without_id(start) | {"contender_id": self._number})
            for start in model.starts
            if start["contender_id"] == known
        ]
        self._trials = cycle([each for each in model.trials if each["contender_id"] == known])
        self._at_s = count(1.0, 0.7)

    def trial(self, block: int) -> None:
        row = next(self._trials) | {
            "run_id": self._run_id,
            "contender_id": self._number,
            "instance_id": self._starts[block % len(self._starts)],
            "block": block,
            "at_s": next(self._at_s),
        }
        self._store.add_trial(TrialRecord(**row))


def _trial(store: Store, row: Row) -> Row:
    number = row.pop("id")

    def of_trial(table: str) -> list[Row]:
        return store.rows(f"SELECT * FROM {table} WHERE trial_id = ?", number)

    gates = [{name: value for name, value in gate.items() if name != "trial_id"}
             for gate in of_trial("gate")]  # fmt: skip
    return row | {
        "command": json.loads(row["command"]),
        "result": json.loads(row["result"]),
        "stdout": zlib.decompress(row["stdout"]).decode(),
        "stderr": zlib.decompress(row["stderr"]).decode(),
        "histograms": {entry["name"]: entry["hdr_v2_base64"] for entry in of_trial("histogram")},
        "series": {
            entry["name"]: json.loads(zlib.decompress(entry["rows"]))
            for entry in of_trial("series")
        },
        "errors": {entry["class"]: entry["requests"] for entry in of_trial("error")},
        "gates": [Gate(**gate | {"passed": bool(gate["passed"])}) for gate in gates],
    }


def _without_id(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "id"}
