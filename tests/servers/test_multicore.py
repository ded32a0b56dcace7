"""What `bench/multicore.py` saw: the workers of the setting `multicore` share the work."""

import json
from pathlib import Path
from typing import Any

import pytest

from deadheat.catalog import load_catalog

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def seen() -> dict[str, dict[str, Any]]:
    results: dict[str, dict[str, Any]] = json.loads(
        (ROOT / "docs/results/multicore.json").read_text("utf-8")
    )
    return results


def test_only_servers_with_the_setting_are_listed(seen: dict[str, dict[str, Any]]) -> None:
    servers = load_catalog(ROOT).servers
    assert [name for name in seen if "multicore" not in servers[name].settings] == []


def test_every_answer_was_right(seen: dict[str, dict[str, Any]]) -> None:
    faults = {name: result["multicore"].get("fault") for name, result in seen.items()}
    assert {name: fault for name, fault in faults.items() if fault} == {}


def test_several_processes_worked(seen: dict[str, dict[str, Any]]) -> None:
    """Regression: of node-h3's four workers, three could not bind the port, and one served.

    With a process for each connection, none has the share of a busy one.
    """
    alone = [
        name
        for name, result in seen.items()
        if result["worker"] == "process"
        and result["multicore"]["busy_processes"] < 2
        and result["multicore"]["workers"] < result["multicore"]["connections_served"]
    ]
    assert alone == []
