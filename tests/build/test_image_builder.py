"""Images, with a fake podman that keeps them in a set."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from deadheat.build.builder import BuildFailed
from deadheat.build.image import (
    BASE_IMAGE,
    THREADS_PER_PROCESS_MAX,
    ContainerTool,
    container_tool,
    containerfile,
    image_file,
)
from deadheat.build.prepare import Candidate, prepare
from deadheat.build.runtime import ImageBuilder
from deadheat.catalog import Server, selection
from deadheat.errors import DeadheatError
from deadheat.host import Completed, Limits, ProcessSpec
from deadheat.host.agent.cgroup import cgroup_name
from deadheat.host.fake import FakeHost
from deadheat.measure.contender import contender_from
from tests.build.made import MANIFEST, made_server

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


PODMAN = ContainerTool(
    program="podman",
    owner="deadheat-1-2-3",
    cpus=(0, 2),
    memory_bytes=1 << 30,
    threads=640,
    open_files=1024,
    user_processes=4096,
)
DOCKER = replace(PODMAN, program="docker")


def test_a_container_has_the_network_the_cpus_and_the_limits_of_a_run() -> None:
    words = PODMAN.run("image:1", "deadheat-1-2-3-80", ("serve", "80"), {"A": "b c"})
    assert " ".join(words) == (
        "podman run --name deadheat-1-2-3-80 --label deadheat.agent=deadheat-1-2-3 "
        "--init --network host --log-driver passthrough --pull never --cpuset-cpus 0,2 "
        "--memory 1073741824 --pids-limit 640 --ulimit nofile=1024:1024 "
        "--ulimit nproc=4096:4096 --env A=b c image:1 serve 80"
    )
    assert "A=b c" in words


def test_each_runtime_gets_its_own_words() -> None:
    """Docker copies the output of a server, and its version is that of its daemon; podman builds
    in the tree of the build, and does not wait when it removes."""
    words = DOCKER.run("image:1", "a", ("serve",), {})
    assert words[words.index("--log-driver") + 1] == "none"
    places = (Path("file"), Path("context"))
    assert "--isolation" in PODMAN.build("image:1", *places)
    assert "--isolation" not in DOCKER.build("image:1", *places)
    assert PODMAN.remove("a", "b") == ("podman", "rm", "--force", "--time", "0", "a", "b")
    assert DOCKER.remove("a") == ("docker", "rm", "--force", "a")
    assert PODMAN.owned()[-1] == '{{.ID}} {{index .Labels "deadheat.agent"}}'
    assert DOCKER.owned()[-1] == '{{.ID}} {{.Label "deadheat.agent"}}'
    assert PODMAN.version()[-1] == "{{.Client.Version}}"
    assert DOCKER.version()[-1] == "{{.Server.Version}}"


def test_limits_are_those_of_the_command_line_or_the_defaults_of_this_machine() -> None:
    tool = container_tool("podman", "me", (0,), Limits(memory_bytes=5 << 20, processes=10))
    assert tool.memory_bytes == 5 << 20
    assert tool.threads == 10 * THREADS_PER_PROCESS_MAX
    tool = container_tool("podman", "me", (0,), Limits())
    assert tool.memory_bytes > 1 << 20
    assert 0 < tool.user_processes <= 2**22
    assert tool.open_files > 0


def test_has_the_install_lines_the_steps_and_the_command(tmp_path: Path) -> None:
    lines = containerfile(selection(made_server(tmp_path)), "made/base:1").splitlines()
    assert lines[2:] == [
        "ARG BASE_IMAGE=made/base:1",
        "FROM ${BASE_IMAGE}",
        "RUN export DEBIAN_FRONTEND=noninteractive \\",
        " && apt-get update \\",
        " && get maker \\",
        " && rm -rf /var/lib/apt/lists/*",
        "WORKDIR /app",
        "COPY . .",
        'RUN ["env", "OUT=/app/out", "maker", "first", "/app"]',
        'RUN ["env", "OUT=/app/out", "maker", "second"]',
        "STOPSIGNAL SIGTERM",
        'CMD ["made", "0.0.0.0:8080"]',
    ]


def test_the_default_base_image_is_pinned_by_its_digest(tmp_path: Path) -> None:
    assert "@sha256:" in BASE_IMAGE
    assert f"ARG BASE_IMAGE={BASE_IMAGE}\n" in containerfile(selection(made_server(tmp_path)))


def test_an_environment_reaches_the_server_as_it_is(tmp_path: Path) -> None:
    env = 'ready_s = 5\nenv = {{ A = "a \\"quoted\\" $HOME \\\\ {{workers}}" }}'
    server = made_server(tmp_path, manifest=MANIFEST.replace("ready_s = 5", env))
    text = containerfile(selection(server, workers=3))
    assert r'ENV A="a \"quoted\" \$HOME \\ 3"' in text


def test_a_line_break_in_an_install_line_stays_within_its_command(tmp_path: Path) -> None:
    """The image of a run has no command: deadheat gives it itself, so that settings share one."""
    broken = MANIFEST.replace('"get maker"', '"""get \\\\\nmaker\nFROM other"""')
    text = image_file(made_server(tmp_path, manifest=broken), "made/base:1")
    assert [line.split()[0] for line in text.splitlines()] == [
        *("ARG", "FROM", "RUN", "WORKDIR", "COPY", "RUN", "RUN")
    ]
