"""`deadheat serve` in headless Chromium; the checks themselves are in web/test/served.js."""

import os
import queue
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
import uvicorn

from deadheat.serve.app import make_app
from tests.browser.made_page import MARKUP, hostile_run
from tests.browser.programs import WEB, chromium_and_node, require_passed
from tests.report.made import MadeRun

RUNS = 60
BETWEEN_TRIALS_S = 0.3


@pytest.fixture
def programs() -> tuple[str, str]:
    return chromium_and_node()


@pytest.fixture
def ended(programs: tuple[str, str], tmp_path: Path) -> MadeRun:
    """The last of many runs, one a day; this one and one in the middle have hostile texts."""
    hostile = hostile_run(tmp_path / "runs.sqlite")
    made = [_small(hostile, number) for number in range(RUNS)]
    with closing(sqlite3.connect(hostile.store.path)) as connection, connection:
        for number, run in enumerate([*made[: RUNS // 2], hostile, *made[RUNS // 2 :]]):
            connection.execute(
                "UPDATE run SET started_at = date('2026-01-01', ? || ' days') || 'T12:00:00+00:00' "
                "WHERE id = ?",
                (number, run.run_id),
            )
    return made[-1]


def _small(of: MadeRun, number: int) -> MadeRun:
    """A run with few trials; versions change, and some contenders are in few runs."""
    run = MadeRun(of.store)
    run.contender("alpha", version=f"1.{number // 20}.0")
    rates = {"alpha": 9000.0 + 10 * number, "reference": 12000.0}
    rare = {1: ["twice"], 2: ["once", "twice"], RUNS - 1: [MARKUP]}
    blocks = 3 if number == RUNS - 1 else 1
    run.race(rates | dict.fromkeys(rare.get(number, []), 5000.0), invocations=1, blocks=blocks)
    run.end()
    return run


@pytest.fixture
def origin(ended: MadeRun) -> Iterator[str]:
    """The address of `deadheat serve`, which runs in a thread."""
    server = uvicorn.Server(uvicorn.Config(make_app(ended.store.path), log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = server.force_exit = True
        thread.join()


def _last_line(process: "subprocess.Popen[str]", under_way: MadeRun) -> str:
    """Adds trials until the process prints that it has seen some, or ends."""
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    blocks = count(1)
    last = ""
    while True:
        try:
            line = lines.get(timeout=BETWEEN_TRIALS_S)
        except queue.Empty:
            under_way.trial("beta", 9000.0, block=next(blocks))
            continue
        if not line:
            return last
        last = line
        if line == "followed\n":
            under_way.end()


def test_the_served_pages(
    programs: tuple[str, str], ended: MadeRun, origin: str, tmp_path: Path
) -> None:
    """All checks in one browser and one test: no other worker of pytest may start them again."""
    browser, node = programs
    folder = os.environ.get("SCREENSHOTS") or tmp_path
    under_way = MadeRun(ended.store)  # until the browser has followed it
    under_way.contender("beta")
    script = str(WEB / "test" / "served.js")
    command = [node, script, browser, origin, ended.run_id, under_way.run_id, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        require_passed(_last_line(process, under_way), 7)
