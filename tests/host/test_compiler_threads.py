"""How busy the compiler threads of a process are, from a made /proc."""

from pathlib import Path

import pytest

from deadheat.host.agent import processes

TASKS = {
    "7": {"comm": "C2 CompilerThre\n", "schedstat": "2000000000 3000000000 9\n"},
    "8": {"comm": "C1 CompilerThre\n", "schedstat": "500000000 0 2\n"},
    "9": {"comm": "http-nio-8080-e\n", "schedstat": "9000000000 0 2\n"},
}
STAT = "8 (C1 CompilerThre) S 1 1 1 0 -1 0 0 0 0 0 {user} {system} 0 0 20 0 1 0 5 0 0\n"


def pretend(monkeypatch: pytest.MonkeyPatch, tasks: dict[str, dict[str, str]]) -> None:
    def read(path: str | Path) -> str | None:
        _, _, _, _, task, name = str(path).split("/")
        return tasks[task].get(name)

    monkeypatch.setattr(processes, "read_text", read)
    monkeypatch.setattr(processes, "numbered", lambda _: [int(task) for task in tasks])


def test_bug_a_compiler_that_waits_for_a_cpu_was_taken_for_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spring Boot's 200 threads on one CPU: it was measured at 9,000/s, and reached 33,000."""
    pretend(monkeypatch, TASKS)
    assert processes.compiler_busy_s([1]) == pytest.approx(2.0 + 3.0 + 0.5)


@pytest.mark.parametrize("waits", [{}, {"schedstat": "0 0 0\n"}], ids=["no file", "zeros"])
def test_a_kernel_that_counts_no_waits_gives_cpu_time(
    waits: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = processes.TICKS_PER_S
    stat = STAT.format(user=2 * ticks, system=ticks)
    pretend(monkeypatch, {"8": {"comm": "C1 CompilerThre\n", "stat": stat, **waits}})
    assert processes.compiler_busy_s([1]) == pytest.approx(3.0)


def test_a_process_without_compiler_threads_has_no_such_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pretend(monkeypatch, {"9": TASKS["9"]})
    assert processes.compiler_busy_s([1]) is None
