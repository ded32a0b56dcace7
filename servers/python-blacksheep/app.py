import asyncio
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from blacksheep import Application, Request, Response, get, html, json, post, text
from jinja2 import Environment, FileSystemLoader

app = Application()
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


@get("/")
async def hello() -> Response:
    return text("Hello, World!")


@get("/wait")
async def wait() -> Response:
    await asyncio.sleep(0.01)
    return text("waited")


@get("/json")
async def send_json() -> Response:
    return json(account())


@post("/echo")
async def echo(request: Request) -> Response:
    message = await request.json()
    message["seen"] = True
    return json(message)


@get("/page")
async def page() -> Response:
    return html(PAGE.render(rows=ROWS))


@post("/upload")
async def upload(request: Request) -> Response:
    length = checksum = 0
    async for piece in request.stream():
        length += len(piece)
        checksum = zlib.crc32(piece, checksum)
    return text(f"{length} {checksum:08x}")


def orders(collection: str) -> Callable[[Request], Awaitable[Response]]:
    async def order(request: Request) -> Response:
        values, (page,) = request.route_values, request.query["page"]
        return text(f"{collection} {values['id']} {values['order']} {page}")

    return order


for collection in ["users", *(f"resource{n}" for n in range(1, 100))]:
    app.router.add_get(f"/{collection}/{{id}}/orders/{{order}}", orders(collection))
