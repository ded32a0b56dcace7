"""Servers that run alone, one after the other, in a world without processes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.host.fake import FakeServer
from deadheat.protocol import Protocol
from tests.campaign.fake_world import FakeWorld, greet


def alone(**values: Any) -> Protocol:
    return Protocol.model_validate(
        {
            "name": "made",
            "about": "For a test.",
            "connections": [10, 100],
            "duration_s": 0.5,
            "residency": "alone",
            "order": "listed",
            "controls": False,
            "warmup": {"kind": "none"},
            "stopping": {"kind": "fixed", "repetitions": 2},
            **values,
        }
    )


@pytest.fixture
def fake(tmp_path: Path) -> FakeWorld:
    return FakeWorld(tmp_path, fast=3000, slow=1000)


def places(fake: FakeWorld) -> list[tuple[str, int, int]]:
    return [(row["name"], row["connections"], row["block"]) for row in fake.trials()]


def starts(fake: FakeWorld) -> list[str]:
    rows = fake.rows(
        "SELECT contender.name FROM instance JOIN contender ON contender.id = instance.contender_id"
        " ORDER BY instance.id"
    )
    return [row["name"] for row in rows]


def test_each_contender_runs_all_its_repetitions_level_by_level(fake: FakeWorld) -> None:
    fake.conduct(alone())
    of_one = [(10, 1), (10, 2), (100, 1), (100, 2)]
    assert places(fake) == [(name, *place) for name in ("fast", "slow") for place in of_one]
    assert starts(fake) == ["fast", "slow"]
    assert fake.rows("SELECT state FROM run") == [{"state": "complete"}]


def test_only_the_loaded_server_is_there(fake: FakeWorld) -> None:
    """Alone means that no rival is frozen beside it: all that is not loaded has been stopped."""
    alive: list[int] = []
    processes = fake.host.processes
    fake.before_load = lambda _: alive.append(sum(p.exited is None for p in processes.values()))
    fake.conduct(alone())
    assert alive == [1] * 8
    assert fake.left_running() == []


@pytest.mark.parametrize(("restart", "expected"), [("never", 1), ("level", 2), ("repetition", 4)])
def test_processes_are_fresh_as_the_protocol_says(
    fake: FakeWorld, restart: str, expected: int
) -> None:
    fake.conduct(alone(restart=restart))
    assert starts(fake) == ["fast"] * expected + ["slow"] * expected
    assert len({row["instance_id"] for row in fake.trials()}) == 2 * expected


def test_a_published_row_may_be_restarted_where_others_are_not(fake: FakeWorld) -> None:
    protocol = alone(restarts={"Slow Server": "repetition"})
    fake.conduct(protocol, labels={"slow": "Slow Server"})
    assert starts(fake) == ["fast"] + ["slow"] * 4
    rows = fake.rows("SELECT label FROM contender ORDER BY position")
    assert [row["label"] for row in rows] == [None, "Slow Server"]


def test_a_random_order_is_made_again_by_its_seed(tmp_path: Path) -> None:
    orders = []
    for number, seed in enumerate((1, 1, 2, 3)):
        folder = tmp_path / str(number)
        folder.mkdir()
        fake = FakeWorld(folder, a=1000, b=1000, c=1000, d=1000)
        fake.conduct(alone(order="random"), seed)
        orders.append(starts(fake))
    assert orders[0] == orders[1]
    assert len({tuple(order) for order in orders}) > 1


def test_the_null_server_goes_first_and_bounds_the_others(fake: FakeWorld) -> None:
    fake.conduct(alone(controls=True))
    assert starts(fake) == ["null-server", "fast", "slow"]
    ceilings = fake.rows(
        "SELECT DISTINCT contender.name FROM gate JOIN trial ON trial.id = gate.trial_id"
        " JOIN contender ON contender.id = trial.contender_id WHERE code = 'ceiling'"
        " ORDER BY contender.name"
    )
    assert [row["name"] for row in ceilings] == ["fast", "slow"]


def test_a_server_that_dies_is_started_anew_for_its_next_trial(fake: FakeWorld) -> None:
    fake.servers["fast"] = FakeServer(answer=greet, dies_after_s=1.2, exit_code=7)
    fake.conduct(alone())
    states = [row["state"] for row in fake.trials() if row["name"] == "fast"]
    assert states == ["ok", "ok", "failed", "ok"]
    assert starts(fake) == ["fast", "fast", "slow"]
    assert any("fast died under load (exit 7)" in told for told in fake.troubles())


def test_one_that_cannot_start_does_not_end_the_run(fake: FakeWorld) -> None:
    fake.servers["fast"] = FakeServer(answer=lambda _: b"", log="no such file")
    fake.conduct(alone())
    assert {name for name, *_ in places(fake)} == {"slow"}
    assert fake.rows("SELECT fault FROM contender WHERE name = 'fast'")[0]["fault"]


def test_a_hanging_generator_is_that_trials_result(fake: FakeWorld) -> None:
    """ab waits forever for a server that does not close a connection of HTTP/1.0."""
    load = fake._load

    def hang(host: Any, spec: Any) -> Any:
        done = load(host, spec)
        return replace(done, stdout="", elapsed_s=1e6) if len(fake.loads) == 2 else done

    fake.host.on_run(lambda command: command[0] == "deadheat-load", hang)
    fake.conduct(alone())
    assert [row["state"] for row in fake.trials()] == ["ok", "failed", *["ok"] * 6]
    assert "did not end within" in fake.trials()[1]["reason"]


def test_what_was_measured_stays_when_it_is_interrupted(fake: FakeWorld) -> None:
    def interrupt(loads: int) -> None:
        if loads == 5:
            raise KeyboardInterrupt

    fake.before_load = interrupt
    fake.conduct(alone(), missing={"Third": "no server here stands for it"})
    assert len(fake.trials()) == 5
    assert fake.left_running() == []
    (run,) = fake.rows("SELECT state, conclusion FROM run")
    assert run["state"] == "interrupted"
    assert json.loads(run["conclusion"])["missing"] == {"Third": "no server here stands for it"}
