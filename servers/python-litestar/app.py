import asyncio
import zlib
from pathlib import Path

import msgspec
from litestar import Litestar, MediaType, Request, get, post
from litestar.contrib.jinja import JinjaTemplateEngine
from litestar.response import Template
from litestar.template.config import TemplateConfig

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


class Sender(msgspec.Struct):
    name: str
    city: str


class Message(msgspec.Struct):
    id: int
    seen: bool
    sender: Sender
    tags: list[str]
    score: float
    parent: int | None
    text: str


@get("/", media_type=MediaType.TEXT)
async def hello() -> str:
    return "Hello, World!"


@get("/wait", media_type=MediaType.TEXT)
async def wait() -> str:
    await asyncio.sleep(0.01)
    return "waited"


@get("/json")
async def send_json() -> dict:
    return account()


@post("/echo", status_code=200)
async def echo(data: Message) -> Message:
    data.seen = True
    return data


@get("/page")
async def page() -> Template:
    return Template("page.html", context={"rows": ROWS})


@post("/upload", status_code=200, media_type=MediaType.TEXT)
async def upload(request: Request) -> str:
    length = checksum = 0
    async for piece in request.stream():
        length += len(piece)
        checksum = zlib.crc32(piece, checksum)
    return f"{length} {checksum:08x}"


def orders(collection: str):
    @get(f"/{collection}/{{id:str}}/orders/{{order:str}}", media_type=MediaType.TEXT)
    async def order(id: str, order: str, page: str) -> str:
        return f"{collection} {id} {order} {page}"

    return order


COLLECTIONS = ["users", *(f"resource{n}" for n in range(1, 100))]
app = Litestar(
    [hello, wait, send_json, echo, page, upload, *map(orders, COLLECTIONS)],
    template_config=TemplateConfig(directory=Path(__file__).parent, engine=JinjaTemplateEngine),
)
