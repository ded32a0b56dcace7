"""Commands with --server-host, over a fake ssh whose other side is this machine."""

import json
import os
import shutil
from pathlib import Path

import pytest

from deadheat.campaign.calibrate import Calibration
from deadheat.campaign.campaign import Plan
from deadheat.campaign.run import RunContext
from deadheat.cli import calibrate, regress
from deadheat.errors import Unmeasurable
from deadheat.host.local import LocalHost
from deadheat.host.ssh import SshHost
from deadheat.measure import review
from deadheat.measure.world import World
from deadheat.protocol import SearchProtocol
from tests.cli.conftest import HERE, Deadheat
from tests.cli.test_regress import BUILD, START, repository
from tests.host.fake_ssh import refusing_ssh, running_ssh

__all__ = ["repository"]  # a fixture
THERE = ("--server-host", "lab@far")
COMMANDS = (
    ("run", "hello", "--protocol", "brief"),
    ("verify", "hello"),
    ("regress", "--base", "HEAD", "--protocol", "brief", "--", "server", "{port}"),
    ("capacity", "hello"),
    ("calibrate",),
)


@pytest.fixture
def far_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the user there."""
    programs = running_ssh(tmp_path)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return tmp_path / "far-home"


@pytest.fixture
def catalog(catalog: Path) -> Path:
    """That of the tests, with the protocols of capacity and calibrate."""
    for name in ("capacity", "calibrate"):
        shutil.copy(HERE / "protocols" / f"{name}.toml", catalog / "protocols")
    return catalog


def require_two_hosts(world: World) -> None:
    assert isinstance(world.server_host, SshHost)
    assert isinstance(world.load.host, LocalHost)
    assert world.link is not None
    assert world.database is not None


def test_verify_builds_and_starts_there(deadheat: Deadheat, home: Path, far_home: Path) -> None:
    ended = deadheat("verify", "hello", *THERE, "--json")
    assert ended.code == 0, ended.err
    (row,) = json.loads(ended.out)
    assert row["fault"] is None
    assert [*(far_home / ".cache/deadheat/builds/hello").glob("*/hello.py")]
    assert not (home / "builds").exists()


def test_regress_sends_the_revisions_and_builds_them_there(
    deadheat: Deadheat,
    home: Path,
    repository: Path,
    far_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans: list[Plan] = []

    def stop(plan: Plan, world: World, *_: object) -> str:
        require_two_hosts(world)
        plans.append(plan)
        raise Unmeasurable("seen")

    monkeypatch.setattr(regress, "conduct", stop)
    words = ("regress", "--base", "good", "--build", BUILD, "--protocol", "brief", *THERE, *START)
    first, again = deadheat(*words), deadheat(*words)
    assert "seen" in first.err
    folders = [Path(contender.cwd or "") for contender in plans[0].extra]
    assert len(folders) == 2
    for folder in folders:
        assert folder.parent == far_home / ".cache/deadheat/revisions"
        assert (folder / "made.py").read_text() == (folder / "server.py").read_text()
    assert (first.err.count("building"), again.err.count("building")) == (2, 0)
    assert not (home / "revisions").exists()


def test_a_failed_build_there_is_shown(
    deadheat: Deadheat, repository: Path, far_home: Path
) -> None:
    words = ("--base", "good", "--build", "echo broken; exit 7", "--protocol", "brief")
    ended = deadheat("regress", *words, *THERE, *START)
    assert ended.code == 1
    assert "  | broken" in ended.err
    assert not [*(far_home / ".cache/deadheat/revisions").glob("*.done")]


def test_capacity_and_calibrate_load_over_the_link(
    deadheat: Deadheat,
    catalog: Path,
    far_home: Path,
    searches: list[RunContext[SearchProtocol]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worlds: list[World] = []

    def measured(world: World, *_: object) -> Calibration:
        worlds.append(world)
        world.server_host.fingerprint()
        raise Unmeasurable("seen")

    monkeypatch.setattr(calibrate, "calibrate", measured)
    ended = deadheat("capacity", "hello", *THERE, "--json")
    assert ended.code == 0, ended.err
    assert "seen" in deadheat("calibrate", *THERE).err
    for world in (*(context.world for context in searches), *worlds):
        require_two_hosts(world)
    assert (len(searches), len(worlds)) == (1, 1)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_a_host_that_refuses_ends_each_command_before_it_begins(
    words: tuple[str, ...],
    deadheat: Deadheat,
    catalog: Path,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs = refusing_ssh(tmp_path, "lab@far: Permission denied (publickey).")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    name, *rest = words
    ended = deadheat(name, *THERE, *rest)
    assert ended.code == 1
    assert "lab@far: cannot connect: it refused every key that ssh offered" in ended.err
    assert "ssh-copy-id lab@far" in ended.hint
    assert not (home / "builds").exists()
    listed = deadheat("report", "--list")
    assert "no run" in listed.out + listed.err or "does not exist" in listed.err


def test_a_strict_review_is_of_the_server_host(
    deadheat: Deadheat, home: Path, far_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It builds with a network, and runs and loads without one."""
    for name in ("FREEZE_S", "SETTLE_S", "WATCH_S"):
        monkeypatch.setattr(review, name, 0.1)
    ended = deadheat("verify", "hello", "--strict", *THERE, "--json")
    if "this host gives no network namespace" in ended.err:
        pytest.skip(ended.err)
    (reviewed,) = json.loads(ended.out)
    checks = {check["rule"]: check for check in reviewed["checks"]}
    for rule in ("build", "start", "answer", "restart", "freeze"):
        assert checks[rule]["passed"], checks[rule]
    assert "of 100 connections served" in checks["load"]["reading"]  # how many: see its backlog
    assert checks["no network at run time"]["reading"] == "it ran with loopback only"
    assert [*(far_home / ".cache/deadheat/builds/hello").glob("*/hello.py")]
    assert not (home / "builds").exists()


def test_only_the_toolchains_there_count(deadheat: Deadheat, catalog: Path, far_home: Path) -> None:
    """A tool that this machine lacks is no fault, if the server host has it."""
    manifest = catalog / "servers/hello/server.toml"
    needs = '[[needs]]\ntool = "only-there"\nprobe = ["only-there"]\ninstall = "apt-get x"\n'
    manifest.write_text(f"{manifest.read_text()}\n{needs}")
    missing = deadheat("verify", "hello", *THERE)
    assert "only-there is not installed on lab@far" in missing.out
    tool = far_home.parent / "far-bin" / "only-there"
    tool.write_text("#!/bin/sh\necho only-there 1.0\n")
    tool.chmod(0o755)
    assert "only-there" not in deadheat("verify", "hello", *THERE).out
