"""Which processes count as workers, and which of them ended."""

import itertools
import os
import signal
from pathlib import Path

from deadheat.host import ProcessSpec
from deadheat.host.fake import FakeHost, FakeServer
from deadheat.host.local import LocalHost
from deadheat.measure.lifecycle import Workers
from tests.host.support import eventually, log, python

MASTER, FIRST, SECOND, THIRD = (1, 10), (2, 11), (3, 11), (4, 50)


class Scripted:
    """An instance whose processes the test sets."""

    def __init__(self) -> None:
        self.host = FakeHost()
        self.host.on_start(lambda _: True, lambda *_: FakeServer())
        self.process = self.host.start(ProcessSpec(["server"]), "log")
        self.workers = Workers(self.host, self.process)

    def load(
        self,
        before: set[tuple[int, int]],
        after: set[tuple[int, int]],
        opened_connections: bool = True,
    ) -> int:
        """One load, with the processes before and after it; how many workers ended."""
        self.host.processes[self.process].members = frozenset(before)
        self.workers.begin()
        self.host.processes[self.process].members = frozenset(after)
        return self.workers.end(opened_connections)


def test_bug_a_worker_that_died_and_was_replaced_went_unnoticed() -> None:
    scripted = Scripted()
    both = {MASTER, FIRST, SECOND}
    assert scripted.load(both, both) == 0
    assert scripted.load(both, {MASTER, FIRST, THIRD}) == 1
    assert scripted.load({MASTER, FIRST, THIRD}, {MASTER, FIRST, THIRD}) == 0


def test_a_replacement_is_a_worker_once_it_has_lived_through_a_load() -> None:
    scripted = Scripted()
    scripted.load({MASTER, FIRST}, {MASTER, SECOND})
    scripted.load({MASTER, SECOND}, {MASTER, SECOND})
    assert scripted.load({MASTER, SECOND}, {MASTER, THIRD}) == 1


def test_a_pid_that_is_used_again_is_another_process() -> None:
    scripted = Scripted()
    scripted.load({MASTER, FIRST}, {MASTER, FIRST})
    assert scripted.load({MASTER, FIRST}, {MASTER, (FIRST[0], 99)}) == 1


def test_a_process_per_request_is_no_worker() -> None:
    """Some are frozen while they answer, so they are there when the next load begins."""
    scripted = Scripted()
    children = [(100 + number, 100 + number) for number in range(9)]
    for before, after in itertools.pairwise(children):
        assert scripted.load({MASTER, before}, {MASTER, after}) == 0


def test_a_process_per_connection_is_no_worker() -> None:
    """The load processes keep connections open across blocks and renew them in each block."""
    scripted = Scripted()
    old, new, newest = ({(base + n, base + n) for n in range(9)} for base in (100, 200, 300))
    assert scripted.load({MASTER}, {MASTER, *old}) == 0  # the warm-up opens connections
    assert scripted.load({MASTER, *old}, {MASTER, *old}, opened_connections=False) == 0
    assert scripted.load({MASTER, *old}, {MASTER, *new}) == 0
    assert scripted.load({MASTER, *new}, {MASTER, *newest}) == 0


FORKS = """
import os, signal
def fork():
    if os.fork() == 0:
        signal.pause()
for _ in range(2):
    fork()
print("ready", flush=True)
while True:
    os.wait()
    fork()
"""


def test_a_killed_worker_is_seen_though_its_master_replaces_it(tmp_path: Path) -> None:
    with LocalHost() as host:
        process = host.start(python(FORKS), log(tmp_path))
        eventually(lambda: "ready" in (tmp_path / "log.txt").read_text())
        workers = Workers(host, process)
        workers.begin()
        assert workers.end() == 0
        members = host.members(process)
        assert len(members) == 3
        workers.begin()
        worker = max(members, key=lambda member: (member[1], member[0]))
        os.kill(worker[0], signal.SIGKILL)
        eventually(lambda: len(host.members(process) - members) == 1)
        assert workers.end() == 1
