"""`deadheat run --protocol REPLAY`, `plan` of it, and `deadheat audit`, on real servers."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Deadheat

BRIEF = ("--protocol", "paper", "--duration-scale", "0.1", "hello")


def test_a_plan_lists_every_trial_and_what_is_missing(deadheat: Deadheat, home: Path) -> None:
    ended = deadheat("plan", "--protocol", "paper", "--duration-scale", "0.5")
    assert ended.code == 0
    first, *rest = ended.out.splitlines()
    assert first.startswith(
        "replay of paper, best of 2, scaled 0.5, client on the same host: A replay of a page"
    )
    assert "Hello 1.0 (hello): one process for all" in rest
    assert "       2 connections   *1 2" in rest
    assert any(line.split(maxsplit=1) == ["Goodbye", "no server here"] for line in rest)
    assert "note          nobody measured this" in rest
    assert not home.exists()
    told = json.loads(deadheat("plan", "--protocol", "paper", "--json").out)
    assert [trial["repetition"] for trial in told["trials"]] == [1, 2] * 3
    assert told["missing"] == {"Goodbye": "no server here"}


def test_a_replay_is_labelled_and_audited(deadheat: Deadheat, home: Path, tmp_path: Path) -> None:
    ran = deadheat("run", *BRIEF)
    assert ran.code == 0
    label = "replay of paper, best of 2, scaled 0.1, client on the same host"
    assert label in ran.out
    text = deadheat("audit", "paper")
    assert text.code == 0
    assert label in text.out
    assert "1 of 3 published rows ran here" in text.out
    assert "Goodbye: no server here" in text.out
    assert "Greeter 2: outlives-sigterm is not selected" in text.out
    again = json.loads(deadheat("audit", "paper", "--format", "json").out)
    (level,) = again["levels"]
    hello = level["lines"][0]
    assert hello["ratio"] == pytest.approx(hello["now_per_s"] / 12000)
    assert "best_of" in {defect["code"] for defect in again["defects"]}
    assert again["machine"][0]["seconds"]
    page = tmp_path / "page.md"
    assert deadheat("audit", "paper", "--format", "md", "-o", str(page)).code == 0
    assert page.read_text().startswith("# paper, then and now\n")
    assert "`deadheat audit paper --format md -o" in page.read_text()
    beside = deadheat("audit", "paper", "--against", again["run"])
    assert f"Two replays of ours, this one and {again['run']}" in beside.out


def test_any_other_table_can_be_imported(deadheat: Deadheat, tmp_path: Path) -> None:
    table = tmp_path / "blog.csv"
    table.write_text("row,connections,rate_per_s,precision,source\nHello 1.0,2,10,1,a blog\n")
    assert deadheat("run", *BRIEF).code == 0
    ended = deadheat("audit", "--import", str(table))
    assert ended.code == 0
    assert "blog, then and now" in ended.out
    table.write_text("row,connections,rate_per_s,precision,source\nHello 1.0,two,10,1,a blog\n")
    ended = deadheat("audit", "--import", str(table))
    assert ended.code == 1
    assert f"{table}:2: connections: expected a number >= 1, got 'two'" in ended.err


def test_what_cannot_be_audited_says_what_to_do(deadheat: Deadheat, home: Path) -> None:
    assert deadheat("audit").way_out == "name a replay: `deadheat protocols` lists them"
    assert "deadheat run --protocol paper" in deadheat("audit", "paper").way_out
    assert deadheat("run", "hello", "--protocol", "brief").code == 0
    assert "no run of paper is stored" in deadheat("audit", "paper").err
    ended = deadheat("audit", "brief")
    assert "protocol brief, which replays nothing" in ended.err
    assert "--import FILE.csv" in ended.way_out


def test_a_protocol_that_is_none_is_not_to_be_run(deadheat: Deadheat) -> None:
    """Regression: `audit nosuch` was told to run --protocol nosuch."""
    way_out = deadheat("audit", "nosuch").way_out
    assert way_out == "no protocol has that name: `deadheat protocols` lists them"
    imported = deadheat("audit", "--import", "blog.csv", "20261120")
    assert "--protocol 20261120" not in imported.way_out


def test_a_run_of_another_protocol_is_not_audited_as_this_one(deadheat: Deadheat) -> None:
    """Regression: NAME was passed over where RUN was given."""
    assert deadheat("run", "hello", "--protocol", "brief").code == 0
    ended = deadheat("audit", "paper", "20")
    assert ended.code == 1
    assert "is of protocol brief, not paper" in ended.err
