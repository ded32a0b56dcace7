import asyncio
import os
import signal
import socket
import ssl
import sys
import zlib
from multiprocessing import Process
from pathlib import Path

import tornado.httpserver
import tornado.netutil
import tornado.web
from tornado.escape import json_decode

NOTES = ["plain", '<script>alert("x")</script>', "fish & chips", "it's \"quoted\"", "a < b > c"]
TEXT = (
    "Packed by hand on the day it came in, checked twice, and sent with the early van. "
    "Leave it with a neighbor if nobody is at home, and ring the old bell before you go; "
    "the gate sticks in wet weather. Keep it dry and upright, and return the empty box."
)
ROWS = [
    {"number": n, "name": f"Item {n}", "note": NOTES[n % 5], "text": TEXT} for n in range(1, 201)
]


def account() -> dict:
    return {
        "id": 4711,
        "name": "Ada Example",
        "email": "ada@example.org",
        "city": "Zürich",
        "active": True,
        "balance": 1250.75,
        "note": None,
        "created": "2026-11-22T10:30:00Z",
        "items": [{"id": n, "name": f"Item {n}", "price": n + 0.25} for n in range(1, 11)],
    }


class Handler(tornado.web.RequestHandler):
    def send(self, text: str) -> None:
        self.set_header("Content-Type", "text/plain")
        self.write(text)


class Hello(Handler):
    def get(self) -> None:
        self.send("Hello, World!")


class Wait(Handler):
    async def get(self) -> None:
        await asyncio.sleep(0.01)
        self.send("waited")


class Account(Handler):
    def get(self) -> None:
        self.write(account())  # a dict is sent as JSON


class Echo(Handler):
    def post(self) -> None:
        try:
            message = json_decode(self.request.body)
        except ValueError as error:
            raise tornado.web.HTTPError(400) from error
        message["seen"] = True
        self.write(message)


class Page(Handler):
    def get(self) -> None:
        self.render("page.html", rows=ROWS)


@tornado.web.stream_request_body
class Upload(Handler):
    def prepare(self) -> None:
        self.length = self.checksum = 0

    def data_received(self, piece: bytes) -> None:
        self.length += len(piece)
        self.checksum = zlib.crc32(piece, self.checksum)

    def post(self) -> None:
        self.send(f"{self.length} {self.checksum:08x}")


class Orders(Handler):
    def initialize(self, collection: str) -> None:
        self.collection = collection

    def get(self, id: str, order: str) -> None:
        self.send(f"{self.collection} {id} {order} {self.get_argument('page')}")


ROUTES = [
    ("/", Hello),
    ("/wait", Wait),
    ("/json", Account),
    ("/echo", Echo),
    ("/page", Page),
    ("/upload", Upload),
]
for name in ["users", *(f"resource{n}" for n in range(1, 100))]:
    ROUTES.append((f"/{name}/([^/]+)/orders/([^/]+)", Orders, {"collection": name}))


def tls() -> ssl.SSLContext | None:
    if "CERT" not in os.environ:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(os.environ["CERT"], os.environ["KEY"])
    return context


async def serve(listeners: list[socket.socket]) -> None:
    app = tornado.web.Application(ROUTES, template_path=Path(__file__).parent)
    server = tornado.httpserver.HTTPServer(app, ssl_options=tls())
    server.add_sockets(listeners)
    await asyncio.Event().wait()


def work(listeners: list[socket.socket]) -> None:
    asyncio.run(serve(listeners))


if __name__ == "__main__":
    backlog = int(os.environ["BACKLOG"])
    listeners = tornado.netutil.bind_sockets(int(sys.argv[2]), sys.argv[1], backlog=backlog)
    workers = [
        Process(target=work, args=(listeners,), daemon=True) for _ in range(int(sys.argv[3]))
    ]
    for worker in workers:
        worker.start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # which ends the daemons as well
    for worker in workers:
        worker.join()
