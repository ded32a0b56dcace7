"""Containers of a real podman, with an image of our own null server and what it links."""

import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.build.image import ContainerTool, container_tool
from deadheat.build.prepare import prepare
from deadheat.build.runtime import ImageBuilder
from deadheat.campaign.capacity import Objective
from deadheat.campaign.run import RunContext
from deadheat.catalog import load_server, selection
from deadheat.cli import capacity
from deadheat.host import HostError, Limits
from deadheat.host.agent.cgroup import cgroup_name
from deadheat.host.agent.kernel import start_ticks
from deadheat.host.local import LocalHost
from deadheat.load import find_engine
from deadheat.measure import lifecycle
from deadheat.measure.certificates import certificates
from deadheat.measure.contender import Contender, contender_from
from deadheat.measure.inspection import load_server as load_once
from deadheat.measure.verify import verify
from deadheat.measure.world import World
from deadheat.protocol import SearchProtocol
from deadheat.store import Capacity
from tests.cli.conftest import Deadheat
from tests.host.support import eventually

BASE = "localhost/base:1"
PROTOCOLS = Path(__file__).resolve().parents[2] / "protocols"
STARTED_S = 60
MANIFEST = """\
name = "null"
language = "Rust"
framework = "none"
kind = "server"
homepage = "https://example.org"

[version]
command = ["/engine", "--version"]

[start]
command = ["/engine", "--bind", "{host}", "--null-server", "{port}", "--null-work", "0"]
worker = "none"
keep_alive = true
connection_close = "closes"
backlog = "system"

[transports.https]
command = [
    "/engine", "--bind", "{host}", "--null-server", "{port}", "--cert", "{cert}", "--key", "{key}",
]
"""


def podman(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["podman", *words], capture_output=True, text=True, timeout=STARTED_S, check=False
    )


@pytest.fixture(scope="module")
def storage() -> Iterator[Path]:
    """A place for images and containers that is ours alone; podman's names are short."""
    if shutil.which("podman") is None:
        pytest.skip("podman is not installed: apt-get install -y podman crun catatonit")
    folder = Path(tempfile.mkdtemp(prefix="dh-"))
    (folder / "storage.conf").write_text(
        f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/graph"\nrunroot = "{folder}/run"\n'
    )
    (folder / "containers.conf").write_text('[engine]\nruntime = "runc"\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTAINERS_STORAGE_CONF", str(folder / "storage.conf"))
        if shutil.which("runc") is not None:  # crun refuses hybrid cgroups
            patch.setenv("CONTAINERS_CONF", str(folder / "containers.conf"))
        yield folder
        for _ in range(2):  # the first time it may fail: see remove_containers
            podman("rm", "--all", "--force", "--time", "0")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def base(storage: Path) -> str:
    """An image of the engine and its libraries, or a skip if podman runs no container here."""
    engine = str(find_engine())
    linked = subprocess.run(["ldd", engine], capture_output=True, text=True, check=False).stdout
    archive = storage / "base.tar"
    with tarfile.open(archive, "w") as tar:
        tar.add(engine, "engine")
        for path in re.findall(r"(/\S+) \(0x", linked):
            tar.add(Path(path).resolve(), path)
    imported = podman("import", str(archive), BASE)
    tool = container_tool("podman", cgroup_name(), (0,), Limits())
    done = podman(*tool.once(BASE, ["/engine", "--version"])[1:])
    if done.returncode != 0:
        pytest.skip(f"podman runs no container here: {(imported.stderr + done.stderr)[-300:]}")
    return BASE


@pytest.fixture(scope="module")
def host() -> Iterator[LocalHost]:
    try:
        made = LocalHost("cgroup-v2")
    except HostError:
        made = LocalHost("subreaper")
    with made as local:
        yield local


@pytest.fixture(scope="module")
def tool(world: World) -> ContainerTool:
    return container_tool("podman", cgroup_name(), world.server_cpus[:1], Limits())


@pytest.fixture(scope="module")
def contender(
    base: str, host: LocalHost, tool: ContainerTool, tmp_path_factory: pytest.TempPathFactory
) -> Contender:
    """The server of `MANIFEST` in its image."""
    return contender_at("default", base, host, tool, tmp_path_factory.mktemp("catalog") / "null")


def contender_at(
    setting: str, base: str, host: LocalHost, tool: ContainerTool, folder: Path
) -> Contender:
    folder.mkdir()
    (folder / "server.toml").write_text(MANIFEST)
    chosen = selection(load_server(folder, folder), setting)
    builder = ImageBuilder(host, folder.parent / "builds", tool, base, None)
    (candidate,) = prepare([chosen], host, builder, lambda _: None)
    assert candidate.built is not None, candidate.fault
    assert candidate.version is not None
    assert candidate.version.endswith(" in podman")
    return contender_from(chosen, candidate.built)


def left(tool: ContainerTool) -> str:
    return podman(*tool.owned()[1:]).stdout


def test_a_server_in_a_container_is_held_as_a_native_one(
    contender: Contender, host: LocalHost, tool: ContainerTool, world: World
) -> None:
    here = replace(world, server_host=host, loads=(replace(world.load, host=host),))
    instance = lifecycle.start(here, contender)
    try:
        assert verify(host, instance.address).fault is None
        pids = {pid for pid, _ in host.members(instance.process)}
        names = {Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids}
        assert "engine" in names
        assert not names & {"podman", "conmon"}
        assert {tuple(os.sched_getaffinity(pid)) for pid in pids} == {tool.cpus}
        lifecycle.freeze(here, instance)
        assert host.exchange(instance.address, b"GET / HTTP/1.1\r\n\r\n", 0.3, 0.3).received == b""
        lifecycle.thaw(here, instance)
        assert verify(host, instance.address).fault is None
    finally:
        exited = lifecycle.stop(here, instance)
    assert not exited.survivors
    assert [pid for pid in pids if start_ticks(pid) is not None] == []
    assert tool.owner not in left(tool)


def test_a_server_in_a_container_speaks_tls_with_the_certificate_of_the_run(
    base: str, host: LocalHost, tool: ContainerTool, world: World, tmp_path: Path
) -> None:
    secured = contender_at("https", base, host, tool, tmp_path / "null")
    with certificates() as made:
        loads = (replace(world.load, host=host),)
        here = replace(world, server_host=host, loads=loads, certificates=made)
        instance = lifecycle.start(here, secured)
        try:
            result = load_once(here, instance, 4, 0.2)
        finally:
            lifecycle.stop(here, instance)
    assert result.requests_ok > 0
    assert not result.errors_total


def test_a_container_of_a_killed_deadheat_ends_and_is_removed_later(
    contender: Contender, host: LocalHost, tool: ContainerTool, world: World, tmp_path: Path
) -> None:
    assert contender.image is not None
    dead = replace(tool, owner=tool.owner.rpartition("-")[0] + "-1")  # our PID, at another time
    of_dead = replace(contender, image=replace(contender.image, tool=dead))
    killed = LocalHost(host.containment)
    try:
        there = replace(world, server_host=killed, loads=(replace(world.load, host=killed),))
        instance = lifecycle.start(there, of_dead)
        pids = [pid for pid, _ in killed.members(instance.process)]
    finally:
        killed._agent.kill()
        with suppress(HostError):  # the agent was killed
            killed.close()
    eventually(lambda: not any(start_ticks(pid) for pid in pids))
    assert dead.owner in left(tool)
    ImageBuilder(host, tmp_path, tool, BASE, None).remove_leftovers()
    assert dead.owner not in left(tool)


def test_capacity_searches_with_a_container(
    base: str, deadheat: Deadheat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("servers/null", "recipes", "protocols"):
        (tmp_path / "catalog" / name).mkdir(parents=True)
    (tmp_path / "catalog/servers/null/server.toml").write_text(MANIFEST)
    shutil.copy(PROTOCOLS / "capacity.toml", tmp_path / "catalog/protocols")
    searched: list[str] = []

    def find_capacities(run: RunContext[SearchProtocol], _: Objective) -> list[Capacity]:
        (entered,) = run.entered_contenders
        assert entered.contender.image is not None
        instance = lifecycle.start(run.world, entered.contender)
        lifecycle.stop(run.world, instance)
        searched.append(entered.contender.name)
        return []

    monkeypatch.setattr(capacity, "find_capacities", find_capacities)
    where = ("--catalog", str(tmp_path / "catalog"), "--runtime", "podman", "--base-image", base)
    ended = deadheat("capacity", "null", *where)
    assert ended.code == 0, ended.err
    assert searched == ["null"]
