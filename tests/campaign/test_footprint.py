"""What a start takes up, read before its first load: in every race, and by `deadheat footprint`."""

import json
from pathlib import Path
from typing import Any

import pytest

from deadheat.host import Usage
from deadheat.measure.footprint import folder_bytes
from deadheat.protocol import AloneProtocol
from deadheat.workload import Workload
from tests.campaign.fake_world import FakeWorld
from tests.campaign.made_protocols import alone, sliced


def footprints(fake: FakeWorld) -> list[dict[str, Any]]:
    """What each start of a contender stored."""
    rows = fake.rows(
        "SELECT steady FROM instance JOIN contender ON contender.id = instance.contender_id"
        " WHERE contender.role = 'contender'"
    )
    return [json.loads(row["steady"])["footprint"] for row in rows]


def test_a_race_reads_each_start(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000, slow=1000)
    fake.conduct(sliced())
    usage = fake.servers["fast"].usage
    assert len(footprints(fake)) > 2
    for each in footprints(fake):
        assert each["idle"]["memory_bytes"] == usage.memory_bytes
        assert "connections" not in each
    assert fake.conclusion()["builds"]["fast"]["size_bytes"] is not None


def with_idle() -> AloneProtocol:
    return alone(connections=[10], restart="repetition", idle_connections=[100, 1000])


def test_reads_memory_at_each_number_of_idle_connections(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000)
    fake.conduct(with_idle())
    found = footprints(fake)
    assert len(found) == 2
    for each in found:
        assert [(row["asked"], row["held"]) for row in each["connections"]] == [
            *((100, 100), (1000, 1000))
        ]
    assert not fake.left_running()


def test_bug_no_connection_was_idle_with_a_workload_that_closes_them(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000)
    workload = {"name": "connect", "about": "a", "close": True, "requests": [{"path": "/"}]}
    fake.conduct(with_idle().model_copy(update={"workloads": (Workload.model_validate(workload),)}))
    loads = [spec.command for method, spec in fake.host.calls if method == "converse"]
    assert loads
    assert not any("--close" in command for command in loads)
    assert all("--close" in spec.command for _, spec in fake.loads)


def test_says_how_many_idle_connections_were_served(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000)
    fake.served = lambda _, __: 7
    fake.conduct(with_idle())
    assert {row["held"] for each in footprints(fake) for row in each["connections"]} == {7}


def test_a_server_that_cannot_be_connected_to_has_a_fault(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, fast=3000)
    fake.preflight_error = lambda _: "connect_refused"
    fake.conduct(with_idle())
    (row,) = footprints(fake)[0]["connections"]
    assert row["held"] == 0
    assert "connect_refused" in row["fault"]


def test_the_size_of_a_build_counts_each_file_once(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "file").write_bytes(b"12345")
    (tmp_path / "again").hardlink_to(tmp_path / "inner" / "file")
    assert folder_bytes(str(tmp_path)) == 5
    assert folder_bytes(None) is None
    assert folder_bytes(str(tmp_path / "missing")) is None


@pytest.mark.parametrize("apart", [None, 4096])
def test_memory_of_sockets_is_apart(apart: int | None) -> None:
    assert Usage(1.0, 100, 200, 1, 1, socket_bytes=apart).memory_bytes == 100
