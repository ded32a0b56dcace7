import asyncio
import zlib

from quart import Quart, Response, jsonify, render_template, request

app = Quart(__name__)

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


def text(body: str) -> Response:
    return Response(body, mimetype="text/plain")


@app.get("/")
async def hello() -> Response:
    return text("Hello, World!")


@app.get("/wait")
async def wait() -> Response:
    await asyncio.sleep(0.01)
    return text("waited")


@app.get("/json")
async def json() -> Response:
    return jsonify(account())


@app.post("/echo")
async def echo() -> Response:
    message = await request.get_json()
    message["seen"] = True
    return jsonify(message)


@app.get("/page")
async def page() -> str:
    return await render_template("page.html", rows=ROWS)


@app.post("/upload")
async def upload() -> Response:
    length = checksum = 0
    async for piece in request.body:
        length += len(piece)
        checksum = zlib.crc32(piece, checksum)
    return text(f"{length} {checksum:08x}")


async def order(id: str, order: str) -> Response:
    return text(f"{request.endpoint} {id} {order} {request.args.get('page')}")


for collection in ["users", *(f"resource{n}" for n in range(1, 100))]:
    app.add_url_rule(f"/{collection}/<id>/orders/<order>", collection, order)
