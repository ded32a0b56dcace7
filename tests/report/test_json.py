"""The report as JSON and as CSV, for machines."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from deadheat.host.doctor import host_key
from deadheat.report.formats.document import Document, schema
from deadheat.report.formats.json_document import write
from tests.report.made import FINGERPRINT, QUICK, SETTLE, MadeRun, failed, made_run

SCHEMA_FILE = Path(__file__).parents[2] / "docs" / "schema-report.json"


def document(run: MadeRun) -> dict[str, Any]:
    text = write(run.view())
    Document.model_validate_json(text)
    read: dict[str, Any] = json.loads(text, parse_constant=pytest.fail)
    return read


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    """A run with all that can be in one."""
    run = made_run(
        tmp_path / "runs.sqlite", protocol={**SETTLE, "connections": [10, 100]}, command=["x"]
    )
    run.contender("null-server", role="control", manifest={})
    run.race({"null-server": 90000, "a": 9000, "b": 8900, "c": 3000}, levels=(10, 100), blocks=4)
    run.contender("gone", fault="no toolchain")
    run.trial("c", 2999.0, gates=failed(), errors={"reset": 2})
    run.trial("c", None, state="failed", reason="died")
    run.trial("a", 4500.0, kind="latency", offered_rate_per_s=4500.0)
    run.start("a", behavior={"status": 200})
    run.store.add_calibration(host_key(FINGERPRINT), FINGERPRINT, {"null_pairs": 200})
    run.end()
    return run


def test_the_schema_in_docs_matches_the_code() -> None:
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema(), (
        "regenerate it: python -c 'from deadheat.report.formats.document import schema; "
        'print(schema(), end="")\' > docs/schema-report.json'
    )


def test_bug_a_server_left_out_of_one_workload_took_no_part_in_any(tmp_path: Path) -> None:
    """And one that was left out of a later one had no reason anywhere."""
    names = ["hello", "json"]
    protocol = {**SETTLE, "workloads": [{"name": name} for name in names]}
    run = made_run(tmp_path / "runs.sqlite", protocol=protocol)
    manifest = {"language": "Go", "framework": "f", "kind": "server", "workloads": names}
    left_out = {"first": "hello", "later": "json"}
    for name, workload in left_out.items():
        run.contender(name, manifest=manifest)
        run.start(name, behavior={"workload_faults": {workload: "the answers differ"}})
    run.race({"a": 9000, "b": 6000, "later": 3000}, workload="hello")
    run.race({"a": 9000, "b": 6000, "first": 3000}, workload="json")
    run.end()
    read = document(run)
    assert {each["fault"] for each in read["contenders"]} == {None}
    reasons = {
        (standing["name"], level["workload"]): standing["reason"]
        for level in read["levels"]
        for standing in level["standings"]
    }
    for name, workload in left_out.items():
        assert reasons.pop((name, workload)) == f"{name} is left out: the answers differ"
    assert {*reasons.values()} == {None}


def test_a_document_has_every_level_trial_and_verdict(run: MadeRun) -> None:
    read = document(run)
    assert (read["run"]["id"], read["run"]["why"]) == (run.run_id, "settled")
    main = read["levels"][1]
    assert [s["name"] for s in main["standings"]] == ["a", "b", "c", "gone"]
    assert main["standings"][3]["rank_low"] is None
    assert main["standings"][3]["reason"] == "not measured at this level"
    assert len(main["pairs"]) == 3
    assert sum(pair["neighbors"] for pair in main["pairs"]) == 2
    named = {item["name"]: item for item in read["contenders"]}
    assert named["null-server"]["role"] == "control"
    cell = next(c for c in named["c"]["levels"] if c["connections"] == 100)
    assert (len(cell["trials"]), cell["trials_valid"], cell["errors"]) == (14, 12, {"reset": 2})
    assert read["calibration"]["result"] == {"null_pairs": 200}


def test_a_run_without_intervals_has_no_bounds(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=QUICK)
    run.race({"a": 9000, "b": 3000}, invocations=1, blocks=3)
    level = document(run)["levels"][0]
    assert level["settled"] is False
    assert level["pairs"] == []
    ratio = level["standings"][1]["ratio_to_leader"]
    assert ratio["ratio"] == pytest.approx(1 / 3, rel=0.05)
    assert ratio["low"] is None


def test_a_run_without_trials_gives_a_document(tmp_path: Path) -> None:
    read = document(made_run(tmp_path / "runs.sqlite"))
    assert read["run"]["state"] == "running"
    assert read["contenders"] == []


def test_the_document_rejects_unknown_keys(run: MadeRun) -> None:
    read = document(run)
    with pytest.raises(ValidationError):
        Document.model_validate({**read, "extra": 1})


def test_it_is_ascii_whatever_a_run_holds(tmp_path: Path) -> None:
    """Half of a surrogate pair, which no run writes, is escaped as it is."""
    for name, text in enumerate(("caf\N{LATIN SMALL LETTER E WITH ACUTE} \N{SNOWMAN}", "\ud83d")):
        run = made_run(tmp_path / f"{name}.sqlite", protocol=QUICK)
        run.contender("a", manifest={"language": "Go", "workloads": ["hello"], "notes": [text]})
        run.race({"a": 9000, "b": 8000}, invocations=1, blocks=1)
        run.end()
        for indent in (2, None):
            written = write(run.view(), indent)
            assert written.isascii()
            assert json.loads(written)["contenders"][0]["notes"] == [text]
