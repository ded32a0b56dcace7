import asyncio
import os
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from fastapi.templating import Jinja2Templates
from pydantic import BaseModel

@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    # min_size=0: it connects when a query first needs it. Without DATABASE_URL none comes.
    url = os.environ.get("DATABASE_URL")
    async with asyncpg.create_pool(url, min_size=0, max_size=16) as pool:
        app.state.pool = pool
        yield


app = FastAPI(lifespan=lifespan)
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


class Sender(BaseModel):
    name: str
    city: str


class Message(BaseModel):
    id: int
    seen: bool
    sender: Sender
    tags: list[str]
    score: float
    parent: int | None
    text: str


@app.get("/", response_class=PlainTextResponse)
async def hello() -> str:
    return "Hello, World!"


@app.get("/wait", response_class=PlainTextResponse)
async def wait() -> str:
    await asyncio.sleep(0.01)
    return "waited"


@app.get("/json")
async def send_json() -> dict:
    return account()


@app.post("/echo")
async def echo(message: Message) -> Message:
    message.seen = True
    return message


@app.get("/db")
async def row(request: Request, id: int) -> dict:
    query = "SELECT id, name, price FROM item WHERE id = $1"
    item = await request.app.state.pool.fetchrow(query, id)
    if item is None:
        raise HTTPException(404)
    return dict(item)


@app.exception_handler(RequestValidationError)
async def refuse(request: Request, error: RequestValidationError) -> Response:
    return Response(status_code=400)  # FastAPI's own answer is 422


@app.get("/page", response_class=HTMLResponse)
async def page(request: Request) -> Response:
    return templates.TemplateResponse(request, "page.html", {"rows": ROWS})


@app.post("/upload", response_class=PlainTextResponse)
async def upload(request: Request) -> str:
    length = checksum = 0
    async for piece in request.stream():
        length += len(piece)
        checksum = zlib.crc32(piece, checksum)
    return f"{length} {checksum:08x}"


def add_orders(collection: str) -> None:
    @app.get(f"/{collection}/{{id}}/orders/{{order}}", response_class=PlainTextResponse)
    async def order(id: str, order: str, page: str) -> str:
        return f"{collection} {id} {order} {page}"


for collection in ["users", *(f"resource{n}" for n in range(1, 100))]:
    add_orders(collection)
