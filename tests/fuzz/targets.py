"""What reads files and bytes of strangers, and what must hold for each input.

Each input is read without any exception except a `DeadheatError`, without opening a file elsewhere.
"""

import io
import json
import lzma
import re
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from bench.faulted import moody_transports as http2
from deadheat import report
from deadheat.audit.beside import Case
from deadheat.audit.defects import find_defects
from deadheat.campaign.schedule import estimate, outline
from deadheat.catalog import Server, load_catalog, selection
from deadheat.errors import DeadheatError
from deadheat.foreign_text import printable
from deadheat.host import Completed, HostError
from deadheat.host.replies import lines_of, replies
from deadheat.load import Engine, LoadSpec
from deadheat.measure.response import read_responses
from deadheat.protocol import AloneProtocol, SearchProtocol, load_protocol
from deadheat.protocol.figures import read_figures
from deadheat.report.model.runs import find_run, list_runs, reading
from deadheat.store import Store
from deadheat.store.bundle import export_run, open_bundle
from deadheat.workload.recorded import read_curl, read_har, workload_text
from tests.audit.made import contender, replay
from tests.fuzz.inputs import HOSTILE, HOSTILE_TEXTS, Edit, edited, edits, files
from tests.report.made import made_run

HERE = Path(__file__).resolve().parents[2]
CATALOG = HERE / "tests" / "servers" / "catalog"
FAULT_CHARS_MAX = 50_000
REPORTS = ("terminal", "md", "csv", "json")
CSV = b"""row,connections,rate_per_s,precision,source,requests,repetition
alpha,100,9100,1,a blog,91000,1
beta,100,8000.5,0.1,a blog,,1
"""
RESPONSES = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello" * 2,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.0 200 OK\r\n\r\nhello",
)
REPLIES = (
    b'{"id": 0, "ok": {"containment": "cgroup-v2"}}\n{"id": 1, "ok": null}\n',
    b'{"id": 0, "error": {"message": "x", "hint": null}}\n',
    b'{"id": 2, "ok": {"received": "", "closed": true, "in_time": true}}\n',
    b"{ Welcome to host }\n",
)
ASKED = {
    "method": "POST",
    "url": "http://a.test/items?page=2&state=%7B%22a%22%3A1%7D",
    "headers": [{"name": "Content-Type", "value": "application/json"}],
    "postData": {"mimeType": "application/json", "text": '{"a": "{\\"b\\":1}"}'},
}
ANSWERED = {"status": 200, "content": {"mimeType": "text/plain"}}
ENTRIES = [{"request": ASKED, "response": ANSWERED}]
HAR = json.dumps({"log": {"entries": ENTRIES}}, indent=1).encode()
CURLS = (
    b"curl 'http://a.test/x?y=1' -H 'Accept: text/plain' --data-raw $'it\\'s\\u00e9' -XPUT",
    b"curl -G a.test --data-urlencode 'q=a b' -u me:you -b id=1 --json '{}' -H @file",
)
OF_HTTP2 = (
    *(http2.setting(http2.STREAMS, 100), http2.right(1), http2.right(3)),
    *(said for make in http2.FRAMES.values() for s in (1, 3) if len(said := make(s)) < 1000),
)
OF_RESPONSES = (
    *(b"\r\n", b": ", b"\0", b"chunked", b"-1", b";", b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
    *(b"HTTP/1.1 200 OK\r\n", b"HTTP/9.9 ", b"HTTP/1.1 204 x\r\n", b"HTTP/1.1 103 x\r\n\r\n"),
    *(b"Content-Length: 18446744073709551615\r\n", b"Content-Length: 5\r\n", b"Content-Length: -1"),
    *(b"Transfer-Encoding: chunked\r\n", b"FFFFFFFFFFFFFFFF\r\n", b"a: b\r\n" * 101),
    *(b" " * 70_000, b"9" * 5000),
)


@dataclass(frozen=True, slots=True)
class Target:
    """`check` reads one input in an empty folder. It raises if the input gets the better of it."""

    inputs: st.SearchStrategy[Any]
    check: Callable[[Any, Path], None]
    short: int  # examples in the tests


def check_manifest(content: bytes, folder: Path) -> None:
    _catalog(folder, content, (CATALOG / "recipes" / "python.toml").read_bytes())


def check_recipe(content: bytes, folder: Path) -> None:
    _catalog(folder, (CATALOG / "servers" / "hello" / "server.toml").read_bytes(), content)


def _catalog(folder: Path, manifest: bytes, recipe: bytes) -> None:
    for path, content in (("servers/hello/server.toml", manifest), ("recipes/python.toml", recipe)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    catalog = load_catalog(folder)
    assert len(catalog.servers) + len(catalog.faults) == 1
    for fault in catalog.faults.values():
        assert len(str(fault)) < FAULT_CHARS_MAX
    for server in catalog.servers.values():
        _require_sound(server, folder)


def _require_sound(server: Server, root: Path) -> None:
    assert server.folder.parent == root / "servers"
    json.dumps(server.manifest.model_dump(mode="json"), allow_nan=False)
    for setting in ("default", *server.manifest.settings):
        start = selection(server, setting).start
        for text in (*start.command, *start.env, *start.env.values()):
            assert "\0" not in text
        assert all(name and "=" not in name for name in start.env)
        assert start.command[0]


def check_protocol(content: bytes, folder: Path) -> None:
    path = folder / "protocols" / "paper.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    with suppress(DeadheatError):
        protocol = load_protocol(folder, "paper")
        if isinstance(protocol, SearchProtocol):
            return
        plan = (
            outline(protocol, ["a", "b"], {}, {}, ())
            if isinstance(protocol, AloneProtocol)
            else estimate(protocol, ["a", "b"])
        )
        json.dumps(plan.to_json(), allow_nan=False)
        assert not re.search(r"\b(inf|nan)\b", "\n".join(plan.lines()[1:]))


def check_figures(content: bytes, folder: Path) -> None:
    path = folder / "blog.csv"
    path.write_bytes(content)
    with suppress(DeadheatError):
        figures = read_figures(path)
        case = Case(replay([contender("alpha", [9000.0]), contender("beta", [1.0])]), figures)
        for defect in find_defects(case):
            str(defect)


def check_response(content: bytes, _: Path) -> None:
    for method in ("GET", "HEAD"):
        repr(read_responses(content, method))


def check_replies(content: bytes, _: Path) -> None:
    banner: list[str] = []
    with suppress(DeadheatError):
        for reply in replies(lines_of(io.BytesIO(content), 1 << 16), banner):
            assert isinstance(reply.number, int)
            if reply.error is not None:
                printable(str(HostError(reply.error["message"] or "", reply.error["hint"])))


def check_http2(content: bytes, _: Path) -> None:
    """The load engine gets these frames on each connection after the first one."""
    server = _server()
    server.say(content)
    spec = LoadSpec(server.url, 1, 0.02, timeout_s=0.1, http2_streams=2)
    done = subprocess.run(Engine().command(spec), capture_output=True, text=True)
    assert done.returncode in (0, 3, 4), (done.returncode, done.stderr)
    with suppress(DeadheatError):
        Engine().parse(spec, Completed(done.returncode, done.stdout, done.stderr, 0.1, 0.1), "1")


class _FrameServer:
    """A server in this process that answers right on one connection and says anything on others."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._content: Iterator[bytes] = iter(())
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return "http://{}:{}/".format(*self._listener.getsockname())

    def say(self, content: bytes) -> None:
        self._content = chain([OF_HTTP2[0] + http2.right(1)], repeat(content))

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            said = next(self._content)
            threading.Thread(target=self._serve, args=(connection, said), daemon=True).start()

    @staticmethod
    def _serve(connection: socket.socket, said: bytes) -> None:
        with connection, suppress(OSError):
            connection.settimeout(1)
            connection.recv(1 << 16)
            connection.sendall(said)
            while connection.recv(1 << 16):
                pass


@cache
def _server() -> _FrameServer:
    return _FrameServer()


def check_har(content: bytes, folder: Path) -> None:
    path = folder / "recorded.har"
    path.write_bytes(content)
    with suppress(DeadheatError):
        tomllib.loads(workload_text("paper", "x", read_har(path)).text.encode().decode())


def check_curl(content: bytes, _: Path) -> None:
    with suppress(DeadheatError):
        recorded = read_curl(content.decode(errors="surrogateescape"))
        tomllib.loads(workload_text("paper", "x", [recorded]).text.encode().decode())


def check_bundle(changes: Sequence[Edit], folder: Path) -> None:
    _report_bundle(edited(_bundle(), changes), folder)


def check_bundle_pages(changes: Sequence[Edit], folder: Path) -> None:
    _report_bundle(lzma.compress(edited(_database(), changes), preset=0), folder)


def check_bundle_values(values: Sequence[tuple[int, Any]], folder: Path) -> None:
    """Other values in fields of a sound bundle."""
    plain = folder / "foreign.sqlite"
    plain.write_bytes(_database())
    with closing(sqlite3.connect(plain)) as connection:
        for number, value in values:
            table, column = _columns()[number % len(_columns())]
            with suppress(sqlite3.Error, OverflowError, UnicodeEncodeError):
                connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
        connection.commit()
    _report_bundle(lzma.compress(plain.read_bytes(), preset=0), folder)


def _report_bundle(content: bytes, folder: Path) -> None:
    path = folder / "foreign.deadheat"
    path.write_bytes(content)
    with suppress(DeadheatError), open_bundle(path) as store, reading(path):
        _report(store)


def check_store(changes: Sequence[Edit], folder: Path) -> None:
    path = folder / "runs.sqlite"
    path.write_bytes(edited(_database(), changes))
    with suppress(DeadheatError), closing(Store(path, read_only=True)) as store, reading(path):
        _report(store)


def _report(store: Store) -> None:
    list_runs(store)
    view = report.load_view(store, find_run(store, None), whole=True)
    for format_ in REPORTS:
        text = report.write(view, format_)
        assert printable(text) == text
        assert format_ != "json" or json.loads(text)


@cache
def _database() -> bytes:
    """A small store with one run."""
    with tempfile.TemporaryDirectory() as folder:
        run = made_run(Path(folder) / "runs.sqlite")
        run.race({"alpha": 9000, "beta": 3000}, blocks=2)
        run.end()
        export_run(run.store, run.run_id, Path(folder) / "run.deadheat")
        return lzma.decompress((Path(folder) / "run.deadheat").read_bytes())


@cache
def _bundle() -> bytes:
    return lzma.compress(_database(), preset=0)


@cache
def _columns() -> list[tuple[str, str]]:
    """Every column of every table."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(_database())
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        return [
            (table, row[1])
            for (table,) in tables.fetchall()
            for row in connection.execute(f"PRAGMA table_info({table})")
        ]


def _protocols() -> list[bytes]:
    named = [path.read_bytes() for path in sorted((CATALOG / "protocols").glob("*.toml"))]
    return [re.sub(rb'(?m)^name = ".*"$', b'name = "paper"', text) for text in named]


def _manifests(folder: str) -> list[bytes]:
    texts = [path.read_bytes() for path in sorted(CATALOG.glob(f"{folder}/server.toml"))]
    return [re.sub(rb'(?m)^name = ".*"$', b'name = "hello"', text, count=1) for text in texts]


def _answer(parts: Sequence[bytes]) -> bytes:
    return b"HTTP/1.1 200 OK\r\n" + b"".join(parts) + b"\r\nhello"


VALUES = st.one_of(
    st.sampled_from([*HOSTILE_TEXTS, *HOSTILE, "[" * 5000, "null", "[1]", '{"a": NaN}', "\ud800"]),
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(max_size=20),
)
TARGETS = {
    "manifests": Target(files(*_manifests("servers/*")), check_manifest, 80),
    "recipes": Target(files((CATALOG / "recipes/python.toml").read_bytes()), check_recipe, 60),
    "protocols": Target(files(*_protocols()), check_protocol, 80),
    "figures": Target(files(CSV), check_figures, 150),
    "responses": Target(
        st.one_of(
            st.builds(edited, st.sampled_from(RESPONSES), edits(OF_RESPONSES)),
            st.lists(st.sampled_from(OF_RESPONSES), max_size=8).map(b"".join),
            st.lists(st.sampled_from(OF_RESPONSES), max_size=4).map(_answer),
        ),
        check_response,
        150,
    ),
    "http2": Target(
        st.builds(
            edited,
            st.lists(
                st.one_of(
                    st.sampled_from(OF_HTTP2),
                    st.builds(
                        http2.frame,
                        st.integers(0, 11),
                        st.integers(0, 255),
                        st.integers(0, 9),
                        st.binary(max_size=40),
                    ),
                ),
                max_size=8,
            ).map(b"".join),
            st.one_of(st.just([]), edits(OF_HTTP2)),
        ),
        check_http2,
        20,
    ),
    "replies": Target(
        st.one_of(
            st.builds(edited, st.sampled_from(REPLIES), edits()),
            st.lists(st.sampled_from((*REPLIES, *HOSTILE)), max_size=8).map(b"".join),
        ),
        check_replies,
        150,
    ),
    "hars": Target(files(HAR), check_har, 80),
    "curls": Target(files(*CURLS), check_curl, 80),
    "bundles": Target(edits(), check_bundle, 12),
    "bundle-pages": Target(edits(same_length=True), check_bundle_pages, 10),
    "bundle-values": Target(
        st.lists(st.tuples(st.integers(0, 1000), VALUES), min_size=1, max_size=3),
        check_bundle_values,
        15,
    ),
    "stores": Target(edits(same_length=True), check_store, 10),
}


class _Files:
    """Watches which files the interpreter opens: an audit hook stays for good."""

    folder: Path | None = None
    allowed = tuple(
        str(path)
        for path in (HERE, sys.prefix, sys.base_prefix, "/proc", "/sys", "/usr", "/dev/urandom")
    )
    is_installed = False


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "open" or _Files.folder is None or not isinstance(arguments[0], str):
        return
    path = str(Path(arguments[0]).absolute())
    if not path.startswith((str(_Files.folder), *_Files.allowed)):
        raise AssertionError(f"{path} was opened")


@contextmanager
def _only_files_in(folder: Path) -> Iterator[None]:
    if not _Files.is_installed:
        sys.addaudithook(_watch)
        _Files.is_installed = True
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    _Files.folder = folder
    try:
        yield
    finally:
        _Files.folder, tempfile.tempdir = None, before


@contextmanager
def _no_error_ignored() -> Iterator[None]:
    """Python prints an error that it cannot raise, and goes on."""
    ignored: list[object] = []
    before, sys.unraisablehook = sys.unraisablehook, lambda event: ignored.append(event.exc_value)
    try:
        yield
    finally:
        sys.unraisablehook = before
    assert not ignored, ignored


def check_input(target: Target, content: Any) -> None:
    """Check one input in a fresh folder; no file elsewhere may be opened, no error be ignored."""
    _database()
    with (
        tempfile.TemporaryDirectory(prefix="deadheat-fuzz-") as name,
        _only_files_in(Path(name)),
        _no_error_ignored(),
    ):
        target.check(content, Path(name))
