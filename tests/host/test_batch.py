"""Many short commands in one process tree."""

from collections.abc import Iterator

import pytest

from deadheat.host.batch import run_batch
from deadheat.host.local import LocalHost

COMMANDS = [
    ["sh", "-c", "echo version 2 >&2; echo version 1"],
    ["no-such-program"],
    ["sh", "-c", "echo 3; exit 1"],
    ["sleep", "30"],
    ["nul\0"],
    ["echo", "4"],
]


@pytest.fixture
def host() -> Iterator[LocalHost]:
    with LocalHost("subreaper") as host:
        yield host


def test_each_command_has_its_output_in_its_place(host: LocalHost) -> None:
    """Regression: each took a Python process of its own, and `deadheat list` seconds."""
    outputs = run_batch(host, COMMANDS, timeout_s=1.0)
    assert outputs == ["version 1\nversion 2\n", None, None, None, None, "4\n"]


def test_a_process_that_outlives_its_command_does_not_hold_up_the_others(host: LocalHost) -> None:
    outlived = ["sh", "-c", "sleep 30 & echo 1"]
    assert run_batch(host, [outlived, ["echo", "2"]], timeout_s=0.5)[1] == "2\n"
