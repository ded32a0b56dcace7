"""A server that misbehaves only under load: `moody.py MODE HOST PORT`, one epoll loop per process.

`bench/faulted/modes.py` has what deadheat has to say about each mode. Every mode answers right
until it has served `CALM` requests, or until its process was frozen or idle.
"""

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial

BODY = b"Hello, World!"
FAST_S, SLOW_S = 2.0, 0.01  # after so long, a request takes so long
FROZEN_S = 0.3  # longer than an epoll loop that looks ten times a second ever sleeps
CALM = 30  # more than a verification asks
DROP_S = 0.3  # between two bytes of an answer
WORKER_REQUESTS = 200  # then a worker ends, and another takes its place


def answer(
    body: bytes = BODY, status: bytes = b"200 OK", kind: bytes = b"text/plain", more: bytes = b""
) -> bytes:
    head = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n" % (status, kind, len(body))
    return head + more + b"\r\n" + body


RIGHT = answer()
MISSING = answer(b"", b"404 Not Found")
CLOSING = answer(more=b"Connection: close\r\n")


class Served:
    """What one process has served so far."""

    def __init__(self) -> None:
        self.requests = 0
        self.begun_s = time.monotonic()
        self.kept: list[bytearray] = []

    @property
    def calm(self) -> bool:
        return self.requests <= CALM


Reaction = Callable[[Served, socket.socket], bytes | None]  # None: nothing more; b"": close


def later(bad: bytes) -> Reaction:
    return lambda served, _: RIGHT if served.calm else bad


def one_in(many: int, bad: bytes) -> Reaction:
    return lambda served, _: RIGHT if served.calm or served.requests % many else bad


def leak(served: Served, _: socket.socket) -> bytes:
    if not served.calm:
        served.kept.append(bytearray(b"x") * (8 << 20))
    return RIGHT


def fork(served: Served, _: socket.socket) -> bytes:
    if not served.calm and served.requests % 5 == 0 and os.fork() == 0:
        os.setsid()
        time.sleep(600)
        os._exit(0)
    return RIGHT


def die(served: Served, _: socket.socket) -> bytes:
    if not served.calm:
        os._exit(7)
    return RIGHT


def abort(served: Served, _: socket.socket) -> bytes:
    if not served.calm:
        os.abort()
    return RIGHT


def hang(served: Served, _: socket.socket) -> bytes:
    if not served.calm:
        time.sleep(600)
    return RIGHT


def stop_itself(served: Served, _: socket.socket) -> bytes:
    if not served.calm:
        os.kill(os.getpid(), signal.SIGSTOP)
    return RIGHT


def reset(served: Served, connection: socket.socket) -> bytes:
    if served.calm:
        return RIGHT
    linger = (1).to_bytes(4, sys.byteorder) + bytes(4)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    return b""


def cut(served: Served, connection: socket.socket) -> bytes:
    if served.calm:
        return RIGHT
    connection.send(RIGHT[:-5])
    return b""


def growing(served: Served, _: socket.socket) -> bytes:
    return RIGHT if served.calm else answer(BODY + b"!" * (served.requests - CALM))


def mute(served: Served, _: socket.socket) -> bytes | None:
    return RIGHT if served.calm else None


def pushing(served: Served, connection: socket.socket) -> bytes | None:
    if served.calm:
        return RIGHT
    connection.send(RIGHT)
    time.sleep(0.002)
    return answer(b"pushed")


def drip(served: Served, connection: socket.socket) -> bytes | None:
    if served.calm:
        return RIGHT
    threading.Thread(target=_send_in_drops, args=(connection,), daemon=True).start()
    return None


def _send_in_drops(connection: socket.socket) -> None:
    try:
        for byte in RIGHT:
            connection.send(bytes([byte]))
            time.sleep(DROP_S)
    except OSError:
        pass  # the client has gone


def retire(served: Served, _: socket.socket) -> bytes:
    if served.requests > WORKER_REQUESTS:
        os._exit(0)
    return RIGHT


def tire(served: Served, _: socket.socket) -> bytes:
    if time.monotonic() - served.begun_s > FAST_S:
        time.sleep(SLOW_S)
    return RIGHT


MODES: dict[str, Reaction] = {
    "good": later(RIGHT),
    "503 later": later(answer(b"busy", b"503 Service Unavailable")),
    "one 500 in 5": one_in(5, answer(b"", b"500 Internal Server Error")),
    "302 later": later(answer(b"", b"302 Found", more=b"Location: /\r\n")),
    "204 later": later(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "wrong body later": later(answer(b"Hello, World?")),
    "one wrong byte in 5": one_in(5, answer(b"Hello, world!")),
    "empty body later": later(answer(b"")),
    "longer body later": later(answer(BODY * 2)),
    "growing body": growing,
    "wrong type later": later(answer(kind=b"text/html")),
    "two types later": later(answer(more=b"Content-Type: text/html\r\n")),
    "two lengths later": later(answer(more=b"Content-Length: 14\r\n")),
    "no HTTP later": later(b"Hello, World!\r\n\r\n"),
    "bad chunk later": later(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"
    ),
    "bad trailer later": later(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"d\r\nHello, World!\r\n0\r\nno colon\r\n\r\n"
    ),
    "two answers later": later(RIGHT * 2),
    "pushed answers later": pushing,
    "close that does not come": later(CLOSING),
    "cut answers later": cut,
    "resets later": reset,
    "closes without an answer": lambda served, _: RIGHT if served.calm else b"",
    "stops answering": mute,
    "answers in drops": drip,
    "replaces its worker": retire,
    "hangs": hang,
    "stops itself": stop_itself,
    "dies": die,
    "aborts": abort,
    "leaks": leak,
    "forks": fork,
    "spins when idle": later(RIGHT),
    "fast for the first 2 s": tire,
    "dies while frozen": later(RIGHT),
}


def serve(mode: str, host: str, port: int) -> None:
    listener = socket.create_server((host, port), backlog=4096)
    if mode == "replaces its worker":
        _remain_a_worker()
    react, served = MODES[mode], Served()
    listener.setblocking(False)
    poll, held = select.epoll(), {}
    poll.register(listener, select.EPOLLIN)
    wait_s = 0.0 if mode == "spins when idle" else 0.1
    looked_s = time.monotonic()
    while True:
        events = poll.poll(wait_s)
        now_s, before_s = time.monotonic(), looked_s
        looked_s = now_s
        if mode == "dies while frozen" and now_s - before_s > FROZEN_S:
            os._exit(7)
        for descriptor, _ in events:
            if descriptor == listener.fileno():
                connection, _ = listener.accept()
                held[connection.fileno()] = (connection, bytearray())
                poll.register(connection, select.EPOLLIN)
                continue
            connection, received = held[descriptor]
            if not take(connection, received, react, served):
                poll.unregister(descriptor)
                del held[descriptor]
                connection.close()


def _remain_a_worker() -> None:
    """Returns in each worker: the first process replaces the one that ended."""
    while (worker := os.fork()) != 0:
        signal.signal(signal.SIGTERM, partial(_end_with, worker))
        os.waitpid(worker, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end_with(worker: int, *_: object) -> None:
    os.kill(worker, signal.SIGKILL)
    os._exit(0)


def take(connection: socket.socket, received: bytearray, react: Reaction, served: Served) -> bool:
    """Answer what came; False if the connection is to be closed."""
    try:
        chunk = connection.recv(65536)
        received += chunk
        if not chunk:
            return False
        while (end := received.find(b"\r\n\r\n")) >= 0:
            head = bytes(received[:end])
            del received[: end + 4]
            served.requests += 1
            said = react(served, connection) if head.split()[1] == b"/" else MISSING
            if said == b"":
                return False
            if said is not None:
                if head.startswith(b"HEAD"):
                    said = said[: said.index(b"\r\n\r\n") + 4]
                connection.sendall(said)
            if b"connection: close" in head.lower() or b"HTTP/1.0" in head:
                return False
    except OSError:
        return False
    return True


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
