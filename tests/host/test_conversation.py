"""Conversations with a process that answers each line with a line."""

from pathlib import Path

import pytest

from deadheat.host import HostError, ProcessSpec
from deadheat.host.local import LocalHost

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
