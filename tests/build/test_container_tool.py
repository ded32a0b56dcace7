from dataclasses import replace
from pathlib import Path

from deadheat.build.image import (
    THREADS_PER_PROCESS_MAX,
    ContainerTool,
    container_tool,
)
from deadheat.host import Limits

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


def test_docker_copies_the_output_of_a_server() -> None:
    words = DOCKER.run("image:1", "a", ("serve",), {})
    assert words[words.index("--log-driver") + 1] == "none"


def test_only_podman_builds_in_the_tree_of_the_build() -> None:

    places = (Path("file"), Path("context"))
    assert "--isolation" in PODMAN.build("image:1", *places)
    assert "--isolation" not in DOCKER.build("image:1", *places)


def test_a_removal_does_not_wait_for_the_server() -> None:
    assert PODMAN.remove("a", "b") == ("podman", "rm", "--force", "--time", "0", "a", "b")
    assert DOCKER.remove("a") == ("docker", "rm", "--force", "a")


def test_each_runtime_prints_the_owner_in_its_own_words() -> None:
    assert PODMAN.owned()[-1] == '{{.ID}} {{index .Labels "deadheat.agent"}}'
    assert DOCKER.owned()[-1] == '{{.ID}} {{.Label "deadheat.agent"}}'


def test_the_version_of_docker_is_that_of_its_daemon() -> None:
    assert PODMAN.version()[-1] == "{{.Client.Version}}"
    assert DOCKER.version()[-1] == "{{.Server.Version}}"


def test_limits_of_the_command_line_become_those_of_the_runtime() -> None:
    tool = container_tool("podman", "me", (0,), Limits(memory_bytes=5 << 20, processes=10))
    assert tool.memory_bytes == 5 << 20
    assert tool.threads == 10 * THREADS_PER_PROCESS_MAX


def test_without_limits_a_container_gets_the_defaults_of_this_machine() -> None:
    tool = container_tool("podman", "me", (0,), Limits())
    assert tool.memory_bytes > 1 << 20
    assert 0 < tool.user_processes <= 2**22
    assert tool.open_files > 0
