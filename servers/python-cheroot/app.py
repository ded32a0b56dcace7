import json
import os
import signal
import sys
import threading
import time
import zlib
from pathlib import Path
from urllib.parse import parse_qs

from cheroot.ssl.builtin import BuiltinSSLAdapter
from cheroot.wsgi import Server
from jinja2 import Environment, FileSystemLoader

HEADERS = [("Content-Type", "text/plain"), ("Content-Length", "13")]
COLLECTIONS = {"users", *(f"resource{n}" for n in range(1, 100))}  # WSGI has no router
PAGE = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True).get_template("page.html")

NOTES = ["plain", '<script>alert("x")</script>', "fish & chips", "it's \"quoted\"", "a < b > c"]
TEXT = (
    "Packed by hand on the day it came in, checked twice, and sent with the early van. "
    "Leave it with a neighbor if nobody is at home, and ring the old bell before you go; "
    "the gate sticks in wet weather. Keep it dry and upright, and return the empty box."
)
ROWS = [
    {"number": n, "name": f"Item {n}", "note": NOTES[n % 5], "text": TEXT} for n in range(1, 201)
]


def account():
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


def app(environ, start_response):
    method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
    if method == "GET" and path == "/":
        start_response("200 OK", HEADERS)
        return [b"Hello, World!"]
    if method == "GET" and path == "/wait":
        time.sleep(0.01)
        return answer(start_response, "waited")
    if method == "GET" and path == "/json":
        return answer(start_response, json.dumps(account()), "application/json")
    if method == "GET" and path == "/page":
        return answer(start_response, PAGE.render(rows=ROWS), "text/html; charset=utf-8")
    if method == "POST" and path == "/echo":
        return echo(environ, start_response)
    if method == "POST" and path == "/upload":
        return upload(environ, start_response)
    if method == "GET" and (text := order(environ)) is not None:
        return answer(start_response, text)
    return refuse(start_response, "404 Not Found")


def order(environ):
    """The answer to /COLLECTION/{id}/orders/{order}?page=N, or None."""
    match environ["PATH_INFO"].split("/"):
        case ["", collection, id, "orders", order] if collection in COLLECTIONS:
            page = parse_qs(environ["QUERY_STRING"]).get("page", [""])[0]
            return f"{collection} {id} {order} {page}"
    return None


def echo(environ, start_response):
    try:
        message = json.loads(b"".join(pieces(environ)))
    except ValueError:
        return refuse(start_response, "400 Bad Request")
    message["seen"] = True
    return answer(start_response, json.dumps(message), "application/json")


def upload(environ, start_response):
    length = checksum = 0
    for piece in pieces(environ):
        length += len(piece)
        checksum = zlib.crc32(piece, checksum)
    return answer(start_response, f"{length} {checksum:08x}")


def pieces(environ):
    """The body of the request, up to 64 KiB at a time."""
    left = int(environ.get("CONTENT_LENGTH") or 0)
    while left and (piece := environ["wsgi.input"].read(min(left, 65536))):
        left -= len(piece)
        yield piece


def refuse(start_response, status):
    start_response(status, [("Content-Length", "0")])
    return []


def answer(start_response, text, media_type="text/plain"):
    body = text.encode()
    headers = [("Content-Type", media_type), ("Content-Length", str(len(body)))]
    start_response("200 OK", headers)
    return [body]


if __name__ == "__main__":
    threading.stack_size(512 * 1024)
    server = Server(
        (sys.argv[1], int(sys.argv[2])),
        app,
        numthreads=int(sys.argv[3]),
        request_queue_size=int(os.environ["BACKLOG"]),
    )
    server.keep_alive_conn_limit = 10000
    if "CERT" in os.environ:
        server.ssl_adapter = BuiltinSSLAdapter(os.environ["CERT"], os.environ["KEY"])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    server.safe_start()
