import asyncio
import os
import sys
import zlib
from email.utils import formatdate
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from sanic import Request, Sanic
from sanic.response import HTTPResponse, html, json, text

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


app = Sanic("hello")


@app.get("/")
async def hello(request: Request) -> HTTPResponse:
    return text("Hello, World!")


@app.get("/wait")
async def wait(request: Request) -> HTTPResponse:
    await asyncio.sleep(0.01)
    return text("waited")


@app.get("/json")
async def send_json(request: Request) -> HTTPResponse:
    return json(account())


@app.post("/echo")
async def echo(request: Request) -> HTTPResponse:
    message = request.json  # 400 if it is none
    message["seen"] = True
    return json(message)


@app.get("/page")
async def page(request: Request) -> HTTPResponse:
    return html(PAGE.render(rows=ROWS))


@app.post("/upload", stream=True)
async def upload(request: Request) -> HTTPResponse:
    length = checksum = 0
    while (piece := await request.stream.read()) is not None:
        length += len(piece)
        checksum = zlib.crc32(piece, checksum)
    return text(f"{length} {checksum:08x}")


def add_orders(collection: str) -> None:
    @app.get(f"/{collection}/<id>/orders/<order>", name=collection, unquote=True)
    async def orders(request: Request, id: str, order: str) -> HTTPResponse:
        return text(f"{collection} {id} {order} {request.args.get('page')}")


for collection in ["users", *(f"resource{n}" for n in range(1, 100))]:
    add_orders(collection)


if "DATE" in os.environ:

    @app.on_response
    async def date(request: Request, response: HTTPResponse) -> None:
        response.headers["date"] = formatdate(usegmt=True)


if __name__ == "__main__":
    tls = {"cert": os.environ["CERT"], "key": os.environ["KEY"]} if "CERT" in os.environ else None
    app.run(
        host=sys.argv[1],
        port=int(sys.argv[2]),
        workers=int(sys.argv[3]),
        backlog=2048,
        ssl=tls,
        access_log=False,
        motd=False,
    )
