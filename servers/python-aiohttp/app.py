import asyncio
import os
import signal
import socket
import ssl
import sys
import zlib
from multiprocessing import Process
from pathlib import Path

import uvloop
from aiohttp import web
from jinja2 import Environment, FileSystemLoader

PAGE = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True).get_template(
    "page.html"
)

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


async def hello(request: web.Request) -> web.Response:
    return web.Response(text="Hello, World!")


async def wait(request: web.Request) -> web.Response:
    await asyncio.sleep(0.01)
    return web.Response(text="waited")


async def send_json(request: web.Request) -> web.Response:
    return web.json_response(account())


async def echo(request: web.Request) -> web.Response:
    try:
        message = await request.json()
    except ValueError as error:
        raise web.HTTPBadRequest from error
    message["seen"] = True
    return web.json_response(message)


async def page(request: web.Request) -> web.Response:
    return web.Response(text=PAGE.render(rows=ROWS), content_type="text/html")


async def upload(request: web.Request) -> web.Response:
    length = checksum = 0
    async for piece in request.content.iter_any():
        length += len(piece)
        checksum = zlib.crc32(piece, checksum)
    return web.Response(text=f"{length} {checksum:08x}")


def orders(collection: str):
    async def order(request: web.Request) -> web.Response:
        id, number = request.match_info["id"], request.match_info["order"]
        return web.Response(text=f"{collection} {id} {number} {request.query.get('page')}")

    return order


def tls() -> ssl.SSLContext | None:
    if "CERT" not in os.environ:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(os.environ["CERT"], os.environ["KEY"])
    return context


def serve(listener: socket.socket) -> None:
    app = web.Application()
    app.router.add_get("/", hello)
    app.router.add_get("/wait", wait)
    app.router.add_get("/json", send_json)
    app.router.add_post("/echo", echo)
    app.router.add_get("/page", page)
    app.router.add_post("/upload", upload)
    for collection in ["users", *(f"resource{n}" for n in range(1, 100))]:
        app.router.add_get(f"/{collection}/{{id}}/orders/{{order}}", orders(collection))
    loop = uvloop.new_event_loop() if os.environ["LOOP"] == "uvloop" else asyncio.new_event_loop()
    web.run_app(
        app, sock=listener, backlog=2048, ssl_context=tls(), access_log=None, print=None, loop=loop
    )


if __name__ == "__main__":
    listener = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=2048)
    workers = [
        Process(target=serve, args=(listener,), daemon=True) for _ in range(int(sys.argv[3]))
    ]
    for worker in workers:
        worker.start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # which ends the daemons as well
    for worker in workers:
        worker.join()
