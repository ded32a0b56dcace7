"""A workload with a database between two hosts: PostgreSQL runs on the server host."""

import json
import shutil
from pathlib import Path

import pytest

from deadheat.store import Store, read_run
from deadheat.store.listing import run_summaries
from deadheat.store.rows import StoredTrial
from tests.host.support import eventually
from tests.hosts.bed import SERVER, Bed
from tests.hosts.greeting import MANIFEST, started

WORKLOAD = Path(__file__).resolve().parents[2] / "workloads" / "db.toml"
# It speaks PostgreSQL's protocol 3.0 itself, so that the test needs no driver.
PROGRAM = """
import http.server, json, os, socket, struct, sys
from urllib.parse import parse_qs, urlsplit

class Rows:
    def __init__(self):
        url = urlsplit(os.environ["DATABASE_URL"])
        self.socket = socket.create_connection((url.hostname, url.port))
        self.answers = self.socket.makefile("rb")
        words = ("user", url.username, "database", url.path[1:], "")
        start = struct.pack("!i", 3 << 16) + b"".join(word.encode() + bytes(1) for word in words)
        self.socket.sendall(struct.pack("!i", len(start) + 4) + start)
        self.row()
    def row(self):
        row = None
        while True:
            kind, size = struct.unpack("!ci", self.answers.read(5))
            body = self.answers.read(size - 4)
            if kind == b"D":
                row = body
            if kind == b"Z":  # ready for the next query
                return row
    def name_of(self, number):
        query = b"SELECT name FROM item WHERE id = %d" % number + bytes(1)
        self.socket.sendall(b"Q" + struct.pack("!i", len(query) + 4) + query)
        row = self.row()
        return row and row[6:].decode()

class Items(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    rows = None
    def do_GET(self):
        status, media_type, body = self.answer(urlsplit(self.path))
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def answer(self, url):
        if url.path == "/":
            return 200, "text/plain", b"Hello, World!"
        if url.path != "/db":
            return 404, "text/plain", b"no such path"
        text = parse_qs(url.query)["id"][0]
        if not text.isdecimal():
            return 400, "text/plain", b"no number"
        self.rows = self.rows or Rows()
        name = self.rows.name_of(int(text))
        if name is None:
            return 404, "text/plain", b"no such item"
        item = {"id": int(text), "name": name, "price": int(text) + 0.25}
        return 200, "application/json", json.dumps(item).encode()
    def log_message(self, *words):
        pass
http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Items).serve_forever()
"""


@pytest.fixture
def items(catalog: Path) -> Path:
    """The catalog with a server that also answers `db`."""
    if not any(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        pytest.skip("PostgreSQL is not installed: apt-get install -y postgresql")
    kind = 'kind = "server"\n'
    manifest = MANIFEST.replace(kind, f'{kind}workloads = ["hello", "db"]\n')
    (catalog / "servers/greeting/server.toml").write_text(manifest)
    (catalog / "servers/greeting/greeting.py").write_text(PROGRAM)
    (catalog / "workloads").mkdir()
    shutil.copy(WORKLOAD, catalog / "workloads")
    return catalog


def trials_of(store_path: Path) -> list[StoredTrial]:
    with Store(store_path, read_only=True) as opened:
        (summary,) = run_summaries(opened)
        return list(read_run(opened, summary.run_id).trials)


def test_a_run_counts_the_time_of_the_database_there(bed: Bed, items: Path) -> None:
    words = ("greeting", "--protocol", "short", "--workload", "db", "--json")
    out, err = started(bed, items, *words).communicate(timeout=120)
    assert out, err
    trials = trials_of(items / "runs.sqlite")
    with_database = [t for t in trials if t.result.database_cpu_us_per_request]
    assert with_database, [(trial.state, trial.reason) for trial in trials]
    assert all(f"http://{SERVER}:" in " ".join(trial.command) for trial in with_database)
    assert all(trial.requests_ok for trial in with_database)
    eventually(lambda: bed.left() == [], within_s=30)
    report = bed.deadheat(
        "report", json.loads(out)["run"]["id"], "-v", "--store", str(items / "runs.sqlite")
    )
    details, _ = report.communicate()
    assert "the database ran on the server host" in " ".join(details.split())


def test_bug_verify_tried_a_workload_without_its_database(bed: Bed, items: Path) -> None:
    """Over a link, python-uvicorn failed: `db` got status 500."""
    where = ("--catalog", str(items), "--server-host", bed.target)
    process = bed.deadheat("verify", "greeting", *where, "--json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    (row,) = json.loads(out)
    assert row["workloads"] == ["db"]
    eventually(lambda: bed.left() == [], within_s=30)
