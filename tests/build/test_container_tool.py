from dataclasses import replace
from pathlib import Path

from deadheat.build.image import THREADS_PER_PROCESS_MAX, ContainerTool, container_tool
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
