import asyncio
import json
import zlib
from pathlib import Path
from urllib.parse import parse_qs

from jinja2 import Environment, FileSystemLoader

HEADERS = [("content-type", "text/plain")]
COLLECTIONS = {"users", *(f"resource{n}" for n in range(1, 100))}  # RSGI has no router
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


async def app(scope, protocol):
    if scope.method == "GET" and scope.path == "/":
        protocol.response_str(200, HEADERS, "Hello, World!")
    elif scope.method == "GET" and scope.path == "/wait":
        await asyncio.sleep(0.01)
        protocol.response_str(200, HEADERS, "waited")
    elif scope.method == "GET" and scope.path == "/json":
        send_json(protocol, account())
    elif scope.method == "GET" and scope.path == "/page":
        headers = [("content-type", "text/html; charset=utf-8")]
        protocol.response_str(200, headers, PAGE.render(rows=ROWS))
    elif scope.method == "POST" and scope.path == "/echo":
        await echo(protocol)
    elif scope.method == "POST" and scope.path == "/upload":
        await upload(protocol)
    elif scope.method == "GET" and (text := order(scope)) is not None:
        protocol.response_str(200, HEADERS, text)
    else:
        protocol.response_empty(404, [])


def send_json(protocol, value):
    protocol.response_str(200, [("content-type", "application/json")], json.dumps(value))


def order(scope):
    """The answer to /COLLECTION/{id}/orders/{order}?page=N, or None."""
    match scope.path.split("/"):
        case ["", collection, id, "orders", order] if collection in COLLECTIONS:
            page = parse_qs(scope.query_string).get("page", [""])[0]
            return f"{collection} {id} {order} {page}"
    return None


async def echo(protocol):
    try:
        message = json.loads(await protocol())
    except ValueError:
        protocol.response_empty(400, [])
        return
    message["seen"] = True
    send_json(protocol, message)


async def upload(protocol):
    length = checksum = 0
    async for piece in protocol:
        length += len(piece)
        checksum = zlib.crc32(piece, checksum)
    protocol.response_str(200, HEADERS, f"{length} {checksum:08x}")
