"""The agent as a program of Python 3.8 alone, and conversations with its processes."""

import ast
import sys
from pathlib import Path

import pytest

from deadheat.host import HostError, ProcessSpec
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


ECHO = "while read line; do echo got $line; done; echo over >&2"


def shell(host: LocalHost, script: str, tmp_path: Path) -> str:
    return host.converse(ProcessSpec(("sh", "-c", script)), str(tmp_path / "log"))


def test_returns_one_answer_per_line(host: LocalHost, tmp_path: Path) -> None:
    process = shell(host, "echo ready;" + ECHO, tmp_path)
    answers = [host.ask(process, line, 5.0) for line in (None, "one", "two")]
    assert answers == ["ready", "got one", "got two"]


def test_a_conversation_can_be_frozen_and_stopped(host: LocalHost, tmp_path: Path) -> None:
    process = shell(host, ECHO, tmp_path)
    host.freeze(process)
    host.thaw(process)
    assert host.ask(process, "still there", 5.0) == "got still there"
    assert not host.stop(process, "SIGTERM", 5.0).survivors
    with pytest.raises(HostError, match="does not take questions"):
        host.ask(process, "gone", 5.0)


def test_a_missed_deadline_ends_the_conversation(host: LocalHost, tmp_path: Path) -> None:
    process = shell(host, "read line; sleep 0.5; echo late; read line; echo next", tmp_path)
    for _ in range(2):
        with pytest.raises(HostError, match=r"no answer within 0\.1 s"):
            host.ask(process, "question", 0.1)


def test_bug_the_last_line_of_a_load_process_was_lost(host: LocalHost, tmp_path: Path) -> None:
    """Its error said "ended with exit code 2" alone, wherever the hint was left out."""
    process = shell(host, "read line; echo no such option >&2; exit 2", tmp_path)
    ending = "ended with exit code 2 before it answered"
    with pytest.raises(HostError, match=f"{ending}: no such option") as caught:
        host.ask(process, "question", 5.0)
    assert caught.value.hint is None
    process = shell(host, "read line; printf 'why\\nit ends\\n' >&2; exit 2", tmp_path)
    with pytest.raises(HostError, match=f"{ending}: it ends") as caught:
        host.ask(process, "question", 5.0)
    assert caught.value.hint == "why\nit ends"


def test_reports_a_missing_program(host: LocalHost, tmp_path: Path) -> None:
    with pytest.raises(HostError, match="no such program"):
        host.converse(ProcessSpec(("nowhere-to-be",)), str(tmp_path / "log"))


def test_a_process_without_a_compiler_has_no_compiler_time(host: LocalHost, tmp_path: Path) -> None:
    assert host.compiler_busy_s(shell(host, ECHO, tmp_path)) is None


def test_bug_bytes_without_a_line_end_put_off_the_deadline(host: LocalHost, tmp_path: Path) -> None:
    process = shell(host, "while printf x; do sleep 0.02; done", tmp_path)
    with pytest.raises(HostError, match="no answer within 1 s"):
        host.ask(process, None, 1)


def test_bug_a_question_to_a_process_that_does_not_read_had_no_deadline(
    host: LocalHost, tmp_path: Path
) -> None:
    process = shell(host, "sleep 1000", tmp_path)
    with pytest.raises(HostError, match="no answer within 1 s"):
        host.ask(process, "x" * (1 << 20), 1)
    host.stop(process, "SIGKILL", 0)


def test_an_answer_without_end_is_an_error(host: LocalHost, tmp_path: Path) -> None:
    process = shell(host, "yes | tr -d '\\n'", tmp_path)
    for _ in range(2):
        with pytest.raises(HostError, match="its answer is longer than 16777216 bytes"):
            host.ask(process, None, 60)
