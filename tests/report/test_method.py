"""The text on the method follows the run's protocol: it once was the same for every run."""

import json
from pathlib import Path
from typing import Any

import pytest

from deadheat import report
from deadheat.protocol import load_protocol, protocol_names
from deadheat.report.findings.analysis import analyze
from deadheat.report.findings.method import method
from deadheat.report.model.load import load_view
from tests.report.made import QUICK, SETTLE, made_run

ROOT = Path(__file__).parents[2]
SLICED: dict[str, Any] = {**SETTLE, "duration_s": 0.1, "slices": {"rounds": 10}}
REPLAY: dict[str, Any] = {
    **QUICK,
    "residency": "alone",
    "order": "listed",
    "origin": {
        "figures": "woo-2016",
        "command": "wrk",
        "body": "Hello, world!",
        "client_host": "same",
        "server": "a machine",
        "sources": ["a page"],
    },
}


def method_of(folder: Path, protocol: dict[str, Any], **values: Any) -> str:
    folder.mkdir(exist_ok=True)
    run = made_run(folder / "runs.sqlite", protocol=protocol)
    run.race({"a": 1000, "b": 900}, **values)
    view = load_view(run.store, run.end())
    return " ".join(method(view, analyze(view)))


def test_a_replay_is_not_described_as_random_blocks_with_frozen_contenders(tmp_path: Path) -> None:
    text = method_of(tmp_path, REPLAY, invocations=1)
    assert "one after the other, as in the comparison that this run repeats" in text
    assert "a process" in text or "one process for all" in text
    assert "frozen" not in text
    assert "random" not in text
    assert "a slower machine slows every contender" not in text


def test_a_race_in_slices_is_described_as_one(tmp_path: Path) -> None:
    text = method_of(tmp_path, SLICED)
    assert "one slice of 100 ms" in text
    assert "10 rounds are a block" in text


def test_a_fixed_race_does_not_claim_to_have_settled(tmp_path: Path) -> None:
    assert "settled" not in method_of(tmp_path, QUICK)
    assert "order was settled" in method_of(tmp_path / "settle", SETTLE)


def test_a_run_without_ranks_does_not_explain_ranks(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=REPLAY)
    run.contender("a")
    run.trial("a", 1000)
    view = load_view(run.store, run.end())
    assert "A rank is" not in " ".join(method(view, analyze(view)))


def test_a_search_for_capacity_is_no_race(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol={**QUICK, "name": "capacity"})
    run.contender("a")
    run.trial("a", 990, kind="capacity", offered_rate_per_s=1000.0)
    view = load_view(run.store, run.end())
    text = " ".join(method(view, analyze(view)))
    assert "offered requests at fixed rates" in text
    assert "frozen" not in text


@pytest.mark.parametrize("name", protocol_names(ROOT))
def test_every_shipped_protocol_has_a_method_of_its_schedule(tmp_path: Path, name: str) -> None:
    protocol = load_protocol(ROOT, name).model_dump(mode="json")
    text = method_of(tmp_path, protocol, invocations=1)
    assert ("ran one after the other" in text) == (protocol["residency"] == "alone")
    assert ("slice" in text) == bool(protocol["slices"])
    assert ("recover" in text or "idle" in text) == bool(protocol["recovery"])


def test_json_and_markdown_have_the_same_sentences(tmp_path: Path) -> None:
    run = made_run(tmp_path / "runs.sqlite", protocol=REPLAY)
    run.race({"a": 1000, "b": 900}, invocations=1)
    view = load_view(run.store, run.end(), whole=True)
    sentences = json.loads(report.write(view, "json"))["method"]
    assert sentences == [*method(view, analyze(view))]
    markdown = report.write(view, "md")
    assert all(sentence[:60] in markdown for sentence in sentences)


def test_the_page_has_no_method_text_that_is_constant() -> None:
    source = (ROOT / "web" / "src" / "about.js").read_text()
    assert "frozen" not in source
    assert "report.method" in source or "method }" in source
