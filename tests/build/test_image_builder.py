"""Images, with a fake podman that keeps them in a set."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from deadheat.build.builder import BuildFailed
from deadheat.build.prepare import Candidate, prepare
from deadheat.build.runtime import ImageBuilder
from deadheat.catalog import Server, selection
from deadheat.errors import DeadheatError
from deadheat.host import Completed, ProcessSpec
from deadheat.host.agent.cgroup import cgroup_name
from deadheat.host.fake import FakeHost
from deadheat.measure.contender import contender_from
from tests.build.made import made_server
from tests.build.test_container_tool import DOCKER, PODMAN

BASE = "made/base:1"
DEAD = cgroup_name().rpartition("-")[0] + "-1"  # our PID, which began at another time


@dataclass
class FakePodman:
    """Answers the commands of podman and docker; `reachable` images can be pulled."""

    images: set[str] = field(default_factory=lambda: {BASE})
    reachable: set[str] = field(default_factory=set)
    containers: dict[str, str] = field(default_factory=dict)  # id -> owner
    build_output: tuple[int, str] = (0, "built")
    daemon: bool = True
    commands: list[Sequence[str]] = field(default_factory=list)

    def host(self) -> FakeHost:
        host = FakeHost()
        host.on_run(lambda command: command[0] in ("podman", "docker"), self._run)
        return host

    def _run(self, _: FakeHost, spec: ProcessSpec) -> Completed:
        self.commands.append(spec.command)
        code, output = self._answer(spec.command[1:])
        return Completed(code, output if code == 0 else "", output if code else "", 0.1, 0.1)

    def _answer(self, words: Sequence[str]) -> tuple[int, str]:
        match [*words]:
            case ["version", *_]:
                return (0, "4.3.1\n") if self.daemon else (1, "cannot connect")
            case ["image", "inspect", *_, image]:
                return (0, f"id of {image}\n") if image in self.images else (1, "not known")
            case ["pull", image]:
                self.images |= {image} & self.reachable
                return (0, "") if image in self.reachable else (1, "no such host")
            case ["build", *rest]:
                code, output = self.build_output
                if code == 0:
                    self.images.add(rest[rest.index("--tag") + 1])
                return code, output
            case ["ps", *_]:
                return 0, "".join(f"{i} {owner}\n" for i, owner in self.containers.items())
            case ["rm", *rest]:
                self.containers = {i: o for i, o in self.containers.items() if i not in rest}
                return 0, ""
            case ["run", "--rm", *_]:
                return 0, "made 2.3.4\n"
        raise AssertionError(words)


@pytest.fixture
def podman() -> FakePodman:
    return FakePodman()


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return made_server(tmp_path)


def builder(podman: FakePodman, folder: Path, base_image: str = BASE) -> ImageBuilder:
    return ImageBuilder(podman.host(), folder / "builds", PODMAN, base_image, None)


def prepared(podman: FakePodman, folder: Path, server: Server, base: str = BASE) -> Candidate:
    (candidate,) = prepare(
        [selection(server)], podman.host(), builder(podman, folder, base), lambda _: None
    )
    return candidate


def builds(podman: FakePodman) -> int:
    return sum(command[1] == "build" for command in podman.commands)


def test_builds_an_image_without_the_tools_of_this_machine(
    podman: FakePodman, tmp_path: Path, server: Server
) -> None:
    candidate = prepared(podman, tmp_path, server)
    assert candidate.fault is None
    assert candidate.version == "2.3.4 in podman"
    assert candidate.built is not None
    assert candidate.built.toolchains["podman"] == "4.3.1"
    assert candidate.built.toolchains["base image"] == f"id of {BASE}"
    assert f"localhost/deadheat/made:{candidate.built.key}" in podman.images


def test_a_finished_image_is_reused_and_a_removed_one_is_built_again(
    podman: FakePodman, tmp_path: Path, server: Server
) -> None:
    prepared(podman, tmp_path, server)
    prepared(podman, tmp_path, server)
    assert builds(podman) == 1
    podman.images = {BASE}
    assert prepared(podman, tmp_path, server).fault is None
    assert builds(podman) == 2


def test_another_base_image_is_another_build(
    podman: FakePodman, tmp_path: Path, server: Server
) -> None:
    podman.images.add("made/base:2")
    first, second = (prepared(podman, tmp_path, server, base) for base in (BASE, "made/base:2"))
    assert first.built is not None
    assert second.built is not None
    assert first.built.key != second.built.key


def test_a_missing_base_image_is_pulled_or_its_option_named(
    podman: FakePodman, tmp_path: Path, server: Server
) -> None:
    podman.reachable.add("made/base:3")
    assert prepared(podman, tmp_path, server, "made/base:3").fault is None
    with pytest.raises(DeadheatError, match="cannot pull the base image made/base:9") as caught:
        prepared(podman, tmp_path, server, "made/base:9")
    assert "no such host" in str(caught.value)
    assert "--base-image" in (caught.value.hint or "")


def test_a_failed_build_keeps_its_log(podman: FakePodman, tmp_path: Path, server: Server) -> None:
    podman.build_output = (125, "step 7: no such package")
    with pytest.raises(BuildFailed, match="its image cannot be built") as caught:
        builder(podman, tmp_path).build(server, [])
    assert "no such package" in str(caught.value)
    log = Path((caught.value.hint or "").rpartition(" ")[2]).read_text()
    assert "FROM ${BASE_IMAGE}" in log
    assert "step 7: no such package" in log
    podman.build_output = (1, "crun: cgroups in hybrid mode not supported, drop all")
    with pytest.raises(BuildFailed) as caught:
        builder(podman, tmp_path).build(server, [])
    assert "use runc" in (caught.value.hint or "")


def test_a_missing_runtime_or_daemon_is_named_with_what_to_do(
    podman: FakePodman, tmp_path: Path
) -> None:
    with pytest.raises(DeadheatError, match="--runtime podman: podman is not installed") as caught:
        ImageBuilder(FakeHost(), tmp_path, PODMAN, BASE, None)
    assert caught.value.hint == "apt-get install -y podman crun catatonit"
    podman.daemon = False
    with pytest.raises(DeadheatError, match="cannot connect") as caught:
        ImageBuilder(podman.host(), tmp_path, DOCKER, BASE, None)
    assert "start its daemon" in (caught.value.hint or "")


def test_removes_the_containers_of_dead_processes_only(podman: FakePodman, tmp_path: Path) -> None:
    own, other = PODMAN.owner, cgroup_name()
    podman.containers = {"a": DEAD, "b": other, "c": own, "d": "deadheat-of-elsewhere"}
    made = builder(podman, tmp_path)
    assert made.remove_leftovers() == 1
    assert set(podman.containers) == {"b", "c", "d"}
    assert made.remove_own() == 1
    assert set(podman.containers) == {"b", "d"}


def test_a_contender_runs_in_its_image(podman: FakePodman, tmp_path: Path, server: Server) -> None:
    candidate = prepared(podman, tmp_path, server)
    assert candidate.built is not None
    contender = contender_from(candidate.selection, candidate.built)
    words = contender.command_at(81, "127.0.0.1")
    assert words[:4] == ("podman", "run", "--name", f"{PODMAN.owner}-81")
    image = f"localhost/deadheat/made:{candidate.built.key}"
    assert words[words.index(image) :] == (image, "made", "127.0.0.1:81")
    assert contender.env_at(81) == {}
    assert contender.cwd is None
