"""What exceeds a limit ends under its name; a log is cut while it is written."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from deadheat.host import Limits, ProcessSpec
from deadheat.host.agent.limiter import OWN_TREES_EVERY, Limiter
from deadheat.host.agent.log import Log
from deadheat.host.local import LocalHost
from tests.host.support import eventually, log, python

MIB = 1 << 20
LEAK = (
    "import time\nkept = []\n"
    "while True: kept.append(bytearray(b'x') * (1 << 20)); time.sleep(0.002)"
)
FORKS = "import os, time\nwhile True:\n    if not os.fork(): time.sleep(600)\n    time.sleep(0.01)"
CHATTER = (
    "import sys, time\n"
    "for number in range(40_000): print(f'line {number:5} ' + 'x' * 88)\n"
    "sys.stdout.flush()\n"
    "while True: time.sleep(600)"
)
LOG_BYTES = 64 * 1024


def limited_python(code: str) -> ProcessSpec:
    """The limits of the host hold for it, as for a server."""
    return python(code, limited=True)


def ended_by(containment: str, limits: Limits, code: str, folder: Path) -> str:
    with LocalHost(containment, limits) as host:
        process = host.start(limited_python(code), log(folder))
        eventually(lambda: host.alive(process) is not None)
        # Its readings stay. The root may end a moment before the rest of the tree.
        eventually(lambda: host.usage(process).processes == 0)
        exited = host.stop(process, "SIGTERM", 1.0)
    assert exited.limit is not None
    assert exited.how == exited.limit
    return exited.limit


def test_a_memory_leak_ends_as_memory_limit(containment: str, tmp_path: Path) -> None:
    limit = ended_by(containment, Limits(memory_bytes=100 * MIB), LEAK, tmp_path)
    assert limit.startswith("memory_limit: ")
    assert limit.endswith("limit 0.10 GiB")


def test_a_fork_bomb_ends_as_process_limit(containment: str, tmp_path: Path) -> None:
    limit = ended_by(containment, Limits(processes=20), FORKS, tmp_path)
    assert limit.startswith("process_limit: ")
    assert limit.endswith("processes, limit 20")


def test_bug_the_limits_of_servers_ended_load_generators(containment: str) -> None:
    """`calibrate --memory-limit 64K` ended its load generator instead of the copy."""
    with LocalHost(containment, Limits(memory_bytes=MIB // 16)) as host:
        load = host.run(python("import time; time.sleep(1)"), timeout_s=60)
        server = host.run(limited_python("import time; time.sleep(60)"), timeout_s=60)
    assert (load.exit_code, load.limit) == (0, None)
    assert server.limit is not None
    assert server.limit.startswith("memory_limit: ")
    assert server.exit_code == -9


def test_a_tree_within_its_limits_runs_on(containment: str, tmp_path: Path) -> None:
    with LocalHost(containment, Limits(memory_bytes=500 * MIB, processes=5)) as host:
        process = host.start(limited_python(CHATTER), log(tmp_path))
        host.sleep(1.0)
        assert host.alive(process) is None
        assert host.stop(process, "SIGKILL", 1.0).limit is None


def test_a_leak_between_two_freezes_is_noticed(tmp_path: Path) -> None:
    """A tree that is frozen nearly always is checked after each freeze."""
    with LocalHost(limits=Limits(memory_bytes=60 * MIB)) as host:
        process = host.start(limited_python(LEAK), log(tmp_path))

        def leaks_a_little() -> bool:
            host.thaw(process)
            host.sleep(0.02)
            if host.alive(process) is None:
                host.freeze(process)
                host.sleep(0.3)
            return host.alive(process) is not None

        eventually(leaks_a_little)
        exited = host.alive(process)
    assert exited is not None
    assert exited.how.startswith("memory_limit: ")


def test_a_log_is_cut_while_it_is_written(containment: str, tmp_path: Path) -> None:
    """A server wrote 953 MiB of log, and all of it was kept."""
    path = Path(log(tmp_path))
    with LocalHost(containment, Limits(log_bytes=LOG_BYTES)) as host:
        process = host.start(limited_python(CHATTER), str(path))
        eventually(lambda: path.stat().st_size == 40_000 * 100)
        eventually(lambda: 512 * path.stat().st_blocks <= LOG_BYTES)
        assert host.read_tail(str(path), 100).startswith("line 39999 ")
        exited = host.stop(process, "SIGKILL", 1.0)
    lines = path.read_text().splitlines()
    assert path.stat().st_size <= LOG_BYTES
    assert exited.log_cut_bytes > 40_000 * 100 - LOG_BYTES
    assert f"[deadheat: {exited.log_cut_bytes} bytes omitted]" in lines
    assert lines[0].startswith("line     0 ")
    assert lines[-1].startswith("line 39999 ")


def test_a_short_log_is_kept_whole(host: LocalHost, tmp_path: Path) -> None:
    process = host.start(
        limited_python("print('ready', flush=True); import time; time.sleep(600)"), log(tmp_path)
    )
    eventually(lambda: Path(log(tmp_path)).read_text() == "ready\n")
    assert host.stop(process, "SIGKILL", 1.0).log_cut_bytes == 0
    assert Path(log(tmp_path)).read_text() == "ready\n"


def test_a_file_system_without_holes_keeps_the_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, begin: int, end: int) -> None:
        raise OSError

    monkeypatch.setattr("deadheat.host.agent.log.punch_hole", refuse)
    with (tmp_path / "log.txt").open("wb") as file:
        kept = Log(file, LOG_BYTES)
        file.write(b"head\n" + b"x" * 4 * LOG_BYTES)
        file.flush()
        kept.check()
        file.write(b"tail\n")
        file.flush()
        kept.close()
    text = (tmp_path / "log.txt").read_bytes()
    assert text.startswith(b"head\n")
    assert text.endswith(b"bytes omitted]\ntail\n")
    assert len(text) < LOG_BYTES


class Tree:
    """A tree of which the limiter reads the memory."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.limit: str | None = None

    def members(self) -> list[int]:
        return [self.size_bytes]


def test_the_largest_tree_ends_before_the_machine_is_out_of_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[tuple[Tree, str]] = []
    meminfo = "MemTotal: 1000000 kB\nMemAvailable: {} kB"
    available_kb = 500_000
    limiter_module = "deadheat.host.agent.limiter"
    monkeypatch.setattr(f"{limiter_module}.read_text", lambda path: meminfo.format(available_kb))
    monkeypatch.setattr(f"{limiter_module}.resident_bytes", lambda pid: pid)
    monkeypatch.setattr(Limiter, "end", lambda self, tree, limit: ended.append((tree, limit)))
    small, large = Tree(200 * MIB), Tree(600 * MIB)
    limiter = Limiter({}, cgroups=True)
    limiter.check_machine([small, large])  # type: ignore[list-item]
    assert ended == []
    available_kb = 10_000
    limiter.check_machine([small, large])  # type: ignore[list-item]
    ((tree, limit),) = ended
    assert tree is large
    assert limit.startswith(
        "memory_limit: 0.59 GiB, the largest tree when the machine had 9.77 MiB"
    )


def test_bug_checking_hundreds_of_idle_load_processes_disturbed_each_slice() -> None:
    """With 168 of them, a third of the slices failed `client_wait`. They take turns now."""
    servers = {f"server {n}": SimpleNamespace(is_limited=True) for n in range(3)}
    loads = {f"load {n}": SimpleNamespace(is_limited=False) for n in range(2 * OWN_TREES_EVERY)}
    for tree in (*servers.values(), *loads.values()):
        tree.frozen, tree.freezes, tree.freezes_checked, tree.checks = False, 0, 0, 0

    class Counting(Limiter):
        def check(self, tree: Any, family: object) -> None:
            tree.checks += 1

        def check_machine(self, trees: object) -> None:
            pass

    limiter = Counting(cast("Any", {**servers, **loads}), cgroups=True)
    for turn in range(OWN_TREES_EVERY):
        limiter.check_all(turn)
    assert {tree.checks for tree in servers.values()} == {OWN_TREES_EVERY}
    assert {tree.checks for tree in loads.values()} == {1}
