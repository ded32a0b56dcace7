"""`deadheat workloads`, and runs of a workload on a real server."""

import json
import sys
from functools import partial
from pathlib import Path

import pytest

from deadheat.measure import own_servers
from deadheat.measure.contender import Contender
from tests.cli.conftest import HERE, Deadheat, rows

BRIEF = ("--protocol", "brief")
ITEMS = """\
name = "items"
about = "Items by number."
draws = 20

[variables]
id = { min = 1, max = 99 }

[[requests]]
path = "/items/{id}"
expect = { media_type = "text/plain", body = "item {id}" }

[[checks]]
about = "an unknown path"
path = "/none"
expect = { status = 404 }
"""
SERVER = """\
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Items(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        known = self.path.startswith("/items/")
        body = self.path.replace("/items/", "item ").encode() if known else b""
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Items).serve_forever()
"""


@pytest.fixture
def items(tmp_path: Path) -> Path:
    path = tmp_path / "items.toml"
    path.write_text(ITEMS)
    return path


@pytest.fixture
def server(tmp_path: Path) -> Path:
    path = tmp_path / "server.py"
    path.write_text(SERVER)
    return path


def test_lists_the_shipped_workloads(deadheat: Deadheat) -> None:
    ended = deadheat("workloads", "--catalog", str(HERE))
    names = ["hello", "connect", "db", "echo", "json", "page", "route", "upload", "wait"]
    assert [line.split()[0] for line in ended.out.splitlines()] == names


def test_shows_a_workload_on_the_wire(deadheat: Deadheat, items: Path) -> None:
    ended = deadheat("workloads", str(items))
    assert "GET /items/" in ended.out
    assert "| `GET /none` | an unknown path | 404 |" in ended.out


def test_races_an_own_command_with_a_workload(
    deadheat: Deadheat, home: Path, items: Path, server: Path
) -> None:
    ended = deadheat(
        "run", "--workload", str(items), *BRIEF, "--", sys.executable, str(server), "{port}"
    )
    assert ended.ran, ended.err
    assert "workload items" in ended.out
    (run,) = rows(home, "SELECT id, protocol FROM run")
    trials = rows(home, "SELECT state, command FROM trial")
    assert json.loads(run["protocol"])["workloads"][0]["draws"] == 20
    assert {trial["state"] for trial in trials} == {"ok"}
    assert all("--workload" in json.loads(trial["command"]) for trial in trials)
    document = json.loads(deadheat("report", run["id"], "--format", "json").out)
    assert "workload items" in document["heading"][0]
    assert "brief, items" in deadheat("report", "--list").out
    for format_ in ("md", "svg"):
        assert "workload items" in deadheat("report", run["id"], "--format", format_).out


def test_a_server_that_answers_another_request_is_not_measured(
    deadheat: Deadheat, items: Path, server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_servers, "Contender", partial(Contender, ready_s=3.0))
    server.write_text(SERVER.replace('"item ")', '"item 0")'))
    own = (sys.executable, str(server), "{port}")
    ended = deadheat("run", "--workload", str(items), *BRIEF, "--", *own)
    assert ended.code == 1
    assert "expected the body 'item " in ended.err


def test_a_server_that_fails_a_check_is_not_measured(
    deadheat: Deadheat, items: Path, server: Path
) -> None:
    server.write_text(SERVER.replace("200 if known else 404", "200"))
    own = (sys.executable, str(server), "{port}")
    ended = deadheat("run", "--workload", str(items), *BRIEF, "--", *own)
    assert ended.code == 1
    assert "workload items, an unknown path: GET /none: expected status 404, got 200" in ended.err


def test_plan_states_several_workloads(deadheat: Deadheat) -> None:
    names = ("go-gin", "rust-rocket")
    ended = deadheat("plan", *names, "--catalog", str(HERE), "--workload", "hello,route")
    assert ended.out.startswith("settle, workloads hello, route: ")
    assert "left out, without the workload route: rust-rocket" in ended.err
    assert "rust-rocket" in ended.out
    assert "each block    7 trials" in ended.out, "two controls and go-gin twice, rust-rocket once"
