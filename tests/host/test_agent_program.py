"""The agent as a program: it needs only the standard library of Python 3.8."""

import ast
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from deadheat.host import ProcessSpec
from deadheat.host.local import AGENT_PATH, LocalHost

MODULES = sorted(AGENT_PATH.glob("*.py"))
HEAP_BYTES = 64 << 20  # HEAP_MAX_SIZE of glibc, which a new heap reserves


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_a_module_is_short_and_needs_only_the_standard_library_of_python_3_8(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(str(node.module))
    assert {name.split(".")[0] for name in names} <= {*sys.stdlib_module_names, "__future__"}
    assert len(path.read_text().splitlines()) <= 300


def test_it_starts_from_an_archive_without_a_name() -> None:
    """As on another machine, where it arrives over the link."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for path in MODULES:
            file.write(path, f"agent/{path.name}")
    descriptor = os.memfd_create("agent", 0)
    os.write(descriptor, archive.getvalue())
    spec = {
        "command": [
            sys.executable,
            "-I",
            "-S",
            "-c",
            "import os; print(os.listdir('/proc/self/fd'))",
        ]
    }
    requests = json.dumps({"id": 1, "do": "run", "spec": spec, "timeout_s": 60}) + "\n"
    agent = subprocess.Popen(
        [sys.executable, "-I", "-S", f"/proc/self/fd/{descriptor}/agent"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=[descriptor],
        text=True,
    )
    os.close(descriptor)
    with agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(requests)
        agent.stdin.flush()
        assert "containment" in json.loads(agent.stdout.readline())["ok"]
        completed = json.loads(agent.stdout.readline())["ok"]
    assert completed["stdout"] == "['0', '1', '2', '3']\n", "the archive is closed"
    assert agent.returncode == 0


def test_the_threads_of_the_agent_share_one_heap(tmp_path: Path) -> None:
    """They had up to 16 heaps: in a race of two hours, the agent grew by 9 % an hour."""
    with LocalHost() as host:
        for number in range(4):
            host.start(ProcessSpec(("sleep", "1000")), str(tmp_path / f"log-{number}"))
        mappings = Path(f"/proc/{host._agent.pid}/maps").read_text().splitlines()
    reserved = [mapping_bytes(line) for line in mappings if line.split()[1] == "---p"]
    assert reserved, "the guards of the threads' stacks"
    assert max(reserved) < HEAP_BYTES // 2, "a part of another heap"


def mapping_bytes(line: str) -> int:
    """The size of a mapping in /proc/PID/maps."""
    begin, end = line.split()[0].split("-")
    return int(end, 16) - int(begin, 16)
