"""A catalog with one small server, for runs between two hosts."""

import subprocess
from pathlib import Path
from uuid import uuid4

from deadheat.errors import StoreError
from deadheat.store import Store
from deadheat.store.listing import RunSummary, run_summaries
from tests.hosts.bed import Bed

PROGRAM = """
import http.server, sys
class Greeting(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one segment: a second one would wait for the first one's ACK
    def do_GET(self):
        self.send_response(200 if self.path == "/" else 404)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", "13")
        self.end_headers()
        self.wfile.write(b"Hello, World!")
    def log_message(self, *words):
        pass
http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Greeting).serve_forever()
"""
MANIFEST = """
name = "greeting"
language = "Python"
framework = "http.server"
kind = "server"
homepage = "https://docs.python.org"

[version]
command = ["python3", "--version"]

[[needs]]
tool = "python3"
probe = ["python3", "--version"]
install = "apt-get install python3"

[build]
steps = [["cp", "greeting.py", "built.py"]]

[start]
command = ["python3", "-I", "-S", "{build}/built.py", "{host}", "{port}"]
worker = "none"
keep_alive = true
connection_close = "closes"
backlog = 5
"""


def race_protocol(name: str, stopping: str, **values: str) -> str:
    """The file of a short race in slices; `stopping` and `values` are as TOML has them."""
    known = {
        "connections": "[4]",
        "duration_s": "0.05",
        "slices": "{ rounds = 1, control_every = 1 }",
        "warmup": '{ kind = "fixed", duration_s = 0.1 }',
        **values,
        "stopping": f"{{ {stopping} }}",
    }
    head = f'name = "{name}"\nabout = "A moment"\nkind = "slices"\n'
    return head + "".join(f"{key} = {value}\n" for key, value in known.items())


ONCE = 'kind = "fixed", repetitions = 1'
ENDLESS = 'kind = "settle", budget_s = 600, margin = 0.0001'
MANY_SLICES = "{ discard_s = 0.01, rounds = 2, control_every = 1 }"


def write_catalog(folder: Path) -> None:
    for name in ("recipes", "protocols", "servers/greeting"):
        (folder / name).mkdir(parents=True)
    (folder / "servers" / "greeting" / "server.toml").write_text(MANIFEST)
    program = f"# {uuid4()}\n{PROGRAM}"  # another build than that of another test
    (folder / "servers" / "greeting" / "greeting.py").write_text(program)
    (folder / "protocols" / "short.toml").write_text(race_protocol("short", ONCE))
    sliced = race_protocol("sliced", ENDLESS, slices=MANY_SLICES)
    (folder / "protocols" / "sliced.toml").write_text(sliced)


def started(bed: Bed, catalog: Path, *words: str, command: str = "run") -> "subprocess.Popen[str]":
    where = ("--server-host", bed.target, "--store", str(catalog / "runs.sqlite"))
    return bed.deadheat(command, "--catalog", str(catalog), *where, *words)


def summaries(path: Path) -> list[RunSummary]:
    """The runs of a store that another process writes; none before it has made the tables."""
    try:
        with Store(path, read_only=True) as store:
            return list(run_summaries(store))
    except StoreError:
        return []
