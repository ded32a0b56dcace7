"""`--memory-limit`, `--log-limit`, `--build-timeout` and `--isolate`, with real servers."""

import json
import socket
from pathlib import Path

import pytest

from tests.cli.conftest import Deadheat
from tests.servers.contenders import CATALOG, PYTHON

HELLO = (CATALOG / "servers/hello/hello.py").read_text()
HEADERS = "        self.end_headers()\n"
LEAK = HELLO.replace(HEADERS, HEADERS + "        kept.append(bytearray(b'x') * (4 << 20))\n")
CHATTER = HELLO.replace(HEADERS, HEADERS + "        print('x' * 100_000, flush=True)\n")
REACH_OUT = (
    f"import socket, sys\nsocket.create_connection(('127.0.0.1', int(sys.argv[3])))\n{HELLO}"
)
RACE = ("--protocol", "brief")
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def server(tmp_path: Path) -> Path:
    return tmp_path / "server.py"


def started(server: Path, *arguments: str) -> list[str]:
    return ["--", *PYTHON, str(server), "127.0.0.1", "{port}", *arguments]


def test_a_memory_leak_ends_in_a_named_verdict(deadheat: Deadheat, server: Path) -> None:
    server.write_text("kept = []\n" + LEAK)
    ended = deadheat("run", *RACE, "-d", "5s", "--memory-limit", "200M", *started(server))
    assert "memory_limit: " in ended.out + ended.err
    assert "limit 0.20 GiB" in ended.out + ended.err


def test_the_report_says_when_a_log_was_cut(deadheat: Deadheat, server: Path, home: Path) -> None:
    server.write_text(CHATTER)
    ended = deadheat("run", *RACE, "--log-limit", "64K", "--json", *started(server))
    cautions = {caution["code"]: caution for caution in json.loads(ended.out)["cautions"]}
    assert "dropped from the middle of its log" in cautions["log-cut"]["text"]
    assert all(path.stat().st_size <= 64 * 1024 for path in (home / "logs").iterdir())


def test_an_isolated_server_answers_and_reaches_nothing(deadheat: Deadheat, server: Path) -> None:
    server.write_text(REACH_OUT)
    with socket.create_server(("127.0.0.1", 0)) as outside:
        port = str(outside.getsockname()[1])
        open_run = deadheat("run", *RACE, *started(server, port))
        isolated = deadheat("run", *RACE, "--isolate", *started(server, port))
    assert open_run.ran
    assert "ConnectionRefusedError" in isolated.out + isolated.err
    server.write_text(HELLO)
    assert deadheat("run", *RACE, "--isolate", *started(server)).ran


@pytest.mark.alone
def test_calibrate_ends_a_copy_that_exceeds_a_limit(deadheat: Deadheat) -> None:
    flags = ("--copies", "3", "--races", "1", "--catalog", str(REPOSITORY))
    ended = deadheat("calibrate", *flags, "--memory-limit", "64K")
    assert ended.code == 1
    assert "memory_limit: " in ended.err
