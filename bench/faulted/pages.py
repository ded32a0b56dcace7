"""Attacks on `deadheat serve`, and on `deadheat board write` while it writes."""

import hashlib
import http.client
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench.faulted.attempt import CODES, END_S_MAX, Outcome, record
from bench.faulted.matrix import DESCRIPTORS, Fault
from bench.faulted.processes import marked
from bench.faulted.sandbox import Sandbox, sandbox
from deadheat.store import Store
from deadheat.store.bundle import import_runs, open_bundle

BUNDLE = Path(__file__).parents[2] / "docs" / "results" / "make-run.deadheat"
ODD_REQUESTS = 75
SLOW_CONNECTIONS = 400
ANSWER_S = 30.0  # for a good request during an attack
REPLY_S = 2.0
BETWEEN_PIECES_S = 0.03  # a page takes less
LEAVE_S = 5.0
ODD_HEADS = (
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    b"GET /../../etc/passwd HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET /runs/%00 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET /runs/%ff%fe?of=%00 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: {host}\r\nHost: other\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 99999999999999999999\r\n\r\nx",
    b"POST / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /runs HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
    b"PUT / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"DELETE /runs HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET /?" + b"a=b&" * 20_000 + b" HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: {host}\r\n" + b"X: y\r\n" * 5_000 + b"\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x00" * 4096,
    b"GET /search?text=<script>alert(1)</script> HTTP/1.1\r\nHost: {host}\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: {host}\r\nRange: bytes=9-1,-99999999999\r\n\r\n",
)


class Pages:
    """Faults of the kind `serve` or `board`, each on a command of its own."""

    def __init__(self, root: Path, faults: Sequence[Fault], seed: int) -> None:
        self._root, self._faults, self._seed = root, list(faults), seed
        self._order = random.Random(seed)

    def run(self, is_late: Callable[[], bool]) -> list[dict[str, Any]]:
        """The cases: each fault with what went wrong."""
        root = Path(tempfile.mkdtemp(prefix="pages-", dir=self._root))
        cases: list[dict[str, Any]] = []
        with sandbox(root, self._faults[0].kind) as place:
            with Store(place.store) as store, open_bundle(BUNDLE) as bundle:
                import_runs(store, bundle, BUNDLE.name)
            attack = self._serve if self._faults[0].kind == "serve" else self._board
            for number, fault in enumerate(self._faults):
                if is_late():
                    break
                begun_s, outcome = time.monotonic(), Outcome(injected=True, inside=True)
                attack(place, fault, outcome, number)
                outcome.elapsed_s = time.monotonic() - begun_s
                outcome.failures += _left(place)
                case = record(fault, outcome) | {"seed": self._seed}
                cases.append(case | {"containment": "none", "trials": 0})
        return cases

    def _serve(self, place: Sandbox, fault: Fault, outcome: Outcome, _: int) -> None:
        """The attack, or the signal; and then it answers, or a new one does."""
        few = DESCRIPTORS if fault.signal == "few files" else None
        with _serving(place, outcome, few) as (process, port):
            if fault.signal == "odd requests":
                for _number in range(ODD_REQUESTS):
                    _send_odd(port, self._order, outcome)
            elif fault.signal in ("slow", "few files"):
                with ExitStack() as held:
                    for _number in range(2 * DESCRIPTORS if few else SLOW_CONNECTIONS):
                        held.enter_context(_half_request(port))
                    if few is None:
                        _require_page(port, outcome)
            else:
                outcome.delay_s = round(self._order.uniform(0, 1), 4)
                time.sleep(outcome.delay_s)
                process.send_signal(getattr(signal.Signals, f"SIG{fault.signal}"))
                outcome.code = _ended(process, outcome)
                return
            _require_page(port, outcome)
            process.send_signal(signal.SIGINT)
            outcome.code = _ended(process, outcome)

    def _board(self, place: Sandbox, fault: Fault, outcome: Outcome, number: int) -> None:
        """A signal at any time of the writing; the next command writes the whole board."""
        reference, folder = place.root / "reference", place.root / f"board-{number}"
        begun_s = time.monotonic()
        _write_board(place, reference).wait(END_S_MAX)
        took_s = time.monotonic() - begun_s
        process = _write_board(place, folder)
        outcome.delay_s = round(self._order.uniform(0, took_s), 4)
        time.sleep(outcome.delay_s)
        process.send_signal(getattr(signal.Signals, f"SIG{fault.signal}"))
        outcome.code = _ended(process, outcome)
        if outcome.code not in CODES | {-getattr(signal.Signals, f"SIG{fault.signal}")}:
            outcome.failures.append(f"exit code {outcome.code}")
        again = _write_board(place, folder)
        said = again.communicate(timeout=END_S_MAX)[1]
        if again.returncode != 0:
            outcome.failures.append(f"the next one ended with {again.returncode}: {said[-600:]!r}")
        elif _files(folder) != _files(reference):
            outcome.failures.append("the next one wrote other files than one alone")


def _ended(process: "subprocess.Popen[bytes]", outcome: Outcome) -> int:
    """The exit code of a command, which has to end within `END_S_MAX`."""
    try:
        return process.wait(END_S_MAX)
    except subprocess.TimeoutExpired:
        outcome.failures.append(f"did not end within {END_S_MAX:g} s")
        process.kill()
        return process.wait()


def _command(place: Sandbox, *words: str) -> list[str]:
    main = "from deadheat.cli import main; main()"
    return [sys.executable, "-c", main, *words, "--store", str(place.store)]


def _write_board(place: Sandbox, folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        _command(place, "board", "write", "-o", str(folder)),
        env=place.environment,
        cwd=place.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def _files(folder: Path) -> dict[str, str]:
    """The files of a board with hashes of the pages; the command line in them names the folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(
            path.read_bytes().replace(str(folder).encode(), b"")
        ).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@contextmanager
def _serving(
    place: Sandbox, outcome: Outcome, descriptors: int | None
) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """A `deadheat serve` that answers, and its port; checks what it printed when it has ended."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            _command(place, "serve", "--port", str(port)),
            env=place.environment,
            cwd=place.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        try:
            _require_page(port, outcome)
            if descriptors is not None:
                resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (descriptors, descriptors))
            yield process, port
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        stderr.seek(0)
        said = stderr.read().decode(errors="replace")
    if "Traceback" in said:
        outcome.failures.append(f"stderr: {said[-600:]}")
    signals = {-each for each in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)}
    if outcome.code not in CODES | signals:
        outcome.failures.append(f"exit code {outcome.code}: {said[-600:]}")


def _require_page(port: int, outcome: Outcome) -> None:
    """A good request has to be answered with 200 within `ANSWER_S`."""
    end_s, reason = time.monotonic() + ANSWER_S, "no answer"
    while time.monotonic() < end_s:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_S)
        try:
            connection.request("GET", "/")
            if (status := connection.getresponse().status) == 200:
                return
            reason = f"status {status}"
        except (OSError, http.client.HTTPException) as error:
            reason = repr(error)
        finally:
            connection.close()
        time.sleep(0.1)
    outcome.failures.append(f"a good request got {reason} for {ANSWER_S:g} s")


def _send_odd(port: int, order: random.Random, outcome: Outcome) -> None:
    """An odd request, whole or cut or with a changed byte, at once or in two pieces.

    A 500 is a failure.
    """
    sent = bytearray(order.choice(ODD_HEADS).replace(b"{host}", f"127.0.0.1:{port}".encode()))
    if (change := order.random()) < 0.3:
        del sent[order.randrange(len(sent)) :]
    elif change < 0.6:
        sent[order.randrange(len(sent))] = order.randrange(256)
    received = b""
    try:
        with socket.create_connection(("127.0.0.1", port), REPLY_S) as connection:
            at = order.randrange(len(sent) + 1) if order.random() < 0.5 else 0
            connection.sendall(sent[:at])
            time.sleep(BETWEEN_PIECES_S if at else 0)
            connection.sendall(sent[at:])
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(1 << 16):
                received += piece
    except OSError:
        pass  # it may close, or wait for more
    if received.startswith(b"HTTP/1.1 5"):
        outcome.failures.append(f"{bytes(sent[:100])!r} got {received[:60]!r}")


def _half_request(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), REPLY_S)
    connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Sl")
    return connection


def _left(place: Sandbox) -> list[str]:
    end_s = time.monotonic() + LEAVE_S
    while (pids := marked(place.mark)) and time.monotonic() < end_s:
        time.sleep(0.05)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return [f"left process {pid}" for pid in pids]
