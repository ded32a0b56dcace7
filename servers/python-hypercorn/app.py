import asyncio
import json
import os
import zlib
from pathlib import Path
from urllib.parse import parse_qs

import asyncpg
from jinja2 import Environment, FileSystemLoader

HEADERS = [(b"content-type", b"text/plain"), (b"content-length", b"13")]
COLLECTIONS = {"users", *(f"resource{n}" for n in range(1, 100))}  # ASGI has no router
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


async def app(scope, receive, send):
    if scope["method"] == "GET" and scope["path"] == "/":
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": b"Hello, World!"})
    elif scope["method"] == "GET" and scope["path"] == "/wait":
        await asyncio.sleep(0.01)
        await answer(send, "waited")
    elif scope["method"] == "GET" and scope["path"] == "/json":
        await answer(send, json.dumps(account()), b"application/json")
    elif scope["method"] == "GET" and scope["path"] == "/page":
        await answer(send, PAGE.render(rows=ROWS), b"text/html; charset=utf-8")
    elif scope["method"] == "GET" and scope["path"] == "/db":
        await row(scope, send)
    elif scope["method"] == "POST" and scope["path"] == "/echo":
        await echo(receive, send)
    elif scope["method"] == "POST" and scope["path"] == "/upload":
        await upload(receive, send)
    elif scope["method"] == "GET" and (text := order(scope)) is not None:
        await answer(send, text)
    else:
        async for _ in pieces(receive):  # or hypercorn ends an HTTP/2 connection
            pass
        await refuse(send, 404)


def order(scope):
    """The answer to /COLLECTION/{id}/orders/{order}?page=N, or None."""
    match scope["path"].split("/"):
        case ["", collection, id, "orders", order] if collection in COLLECTIONS:
            page = parse_qs(scope["query_string"].decode()).get("page", [""])[0]
            return f"{collection} {id} {order} {page}"
    return None


async def echo(receive, send):
    body = b"".join([piece async for piece in pieces(receive)])
    try:
        message = json.loads(body)
    except ValueError:
        await refuse(send, 400)
        return
    message["seen"] = True
    await answer(send, json.dumps(message), b"application/json")


pool = None  # of this process: a task


async def connect():
    return await asyncpg.create_pool(os.environ["DATABASE_URL"], min_size=0, max_size=16)


async def row(scope, send):
    global pool
    try:
        id = int(parse_qs(scope["query_string"].decode()).get("id", [""])[0])
    except ValueError:
        await refuse(send, 400)
        return
    pool = pool or asyncio.create_task(connect())  # the first of several requests begins it
    item = await (await pool).fetchrow("SELECT id, name, price FROM item WHERE id = $1", id)
    if item is None:
        await refuse(send, 404)
    else:
        await answer(send, json.dumps(dict(item)), b"application/json")


async def upload(receive, send):
    length = checksum = 0
    async for piece in pieces(receive):
        length += len(piece)
        checksum = zlib.crc32(piece, checksum)
    await answer(send, f"{length} {checksum:08x}")


async def pieces(receive):
    """The body of the request as it arrives."""
    while (event := await receive())["type"] == "http.request":
        yield event.get("body", b"")
        if not event.get("more_body"):
            break


async def refuse(send, status):
    await send({"type": "http.response.start", "status": status})
    await send({"type": "http.response.body"})


async def answer(send, text, media_type=b"text/plain"):
    body = text.encode()
    headers = [(b"content-type", media_type), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
