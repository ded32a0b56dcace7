import asyncio
import json
import os
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.templating import Jinja2Templates

templates = Jinja2Templates(Path(__file__).parent)

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


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    # min_size=0: it connects when a query first needs it. Without DATABASE_URL none comes.
    url = os.environ.get("DATABASE_URL")
    async with asyncpg.create_pool(url, min_size=0, max_size=16) as pool:
        app.state.pool = pool
        yield


async def hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse("Hello, World!")


async def wait(request: Request) -> PlainTextResponse:
    await asyncio.sleep(0.01)
    return PlainTextResponse("waited")


async def send_json(request: Request) -> JSONResponse:
    return JSONResponse(account())


async def echo(request: Request) -> JSONResponse:
    try:
        message = await request.json()
    except json.JSONDecodeError as error:
        raise HTTPException(400) from error
    message["seen"] = True
    return JSONResponse(message)


async def row(request: Request) -> JSONResponse:
    try:
        id = int(request.query_params.get("id", ""))
    except ValueError as error:
        raise HTTPException(400) from error
    query = "SELECT id, name, price FROM item WHERE id = $1"
    item = await request.app.state.pool.fetchrow(query, id)
    if item is None:
        raise HTTPException(404)
    return JSONResponse(dict(item))


async def page(request: Request) -> Response:
    return templates.TemplateResponse(request, "page.html", {"rows": ROWS})


async def upload(request: Request) -> PlainTextResponse:
    length = checksum = 0
    async for piece in request.stream():
        length += len(piece)
        checksum = zlib.crc32(piece, checksum)
    return PlainTextResponse(f"{length} {checksum:08x}")


def orders(collection: str) -> Route:
    async def order(request: Request) -> PlainTextResponse:
        id, number = request.path_params["id"], request.path_params["order"]
        return PlainTextResponse(f"{collection} {id} {number} {request.query_params.get('page')}")

    return Route(f"/{collection}/{{id}}/orders/{{order}}", order)


routes = [
    Route("/", hello),
    Route("/wait", wait),
    Route("/json", send_json),
    Route("/echo", echo, methods=["POST"]),
    Route("/db", row),
    Route("/page", page),
    Route("/upload", upload, methods=["POST"]),
]
COLLECTIONS = ["users", *(f"resource{n}" for n in range(1, 100))]
app = Starlette(routes=[*routes, *map(orders, COLLECTIONS)], lifespan=lifespan)
