"""The line before a race, the question on a busy machine, and --wait-quiet."""

from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.errors import Unmeasurable
from deadheat.measure.hosts import require_quiet
from deadheat.measure.world import World
from tests.campaign.fake_world import FakeWorld
from tests.host.test_machine import BusyHost


def world_on(host: BusyHost, folder: Path) -> World:
    world = FakeWorld(folder, a=1.0).world
    return replace(world, server_host=host, loads=(replace(world.load, host=host),))


def test_a_busy_machine_without_a_terminal_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    require_quiet(world_on(BusyHost(others=0.5), tmp_path), None, None)
    assert "the machine is busy: other processes use 50 %" in capsys.readouterr().err


def test_the_user_decides_whether_to_measure_on_a_busy_machine(tmp_path: Path) -> None:
    world = world_on(BusyHost(others=0.5), tmp_path)
    require_quiet(world, None, lambda question: True)
    with pytest.raises(Unmeasurable, match="the machine is busy"):
        require_quiet(world, None, lambda question: False)


def test_a_quiet_machine_is_not_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(question: str) -> bool:
        raise AssertionError(question)

    require_quiet(world_on(BusyHost(), tmp_path), None, refuse)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("the machine is quiet: ")


def test_waits_until_the_machine_is_quiet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = BusyHost(others=0.5, until_s=20)
    require_quiet(world_on(host, tmp_path), 60, None)
    assert 20 < host.now_s() < 40
    assert capsys.readouterr().err.splitlines()[-1].startswith("the machine is quiet")


def test_gives_up_when_the_machine_stays_busy(tmp_path: Path) -> None:
    host = BusyHost(others=0.5)
    with pytest.raises(Unmeasurable, match="--wait-quiet: after 1 min the machine is busy"):
        require_quiet(world_on(host, tmp_path), 60, None)
    assert host.now_s() < 80
