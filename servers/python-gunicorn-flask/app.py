import os
import time
import zlib

from flask import Flask, Response, abort, jsonify, render_template, request
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

app = Flask(__name__)
url = os.environ.get("DATABASE_URL", "")
pool = ConnectionPool(url, min_size=0, max_size=16, open=False, kwargs={"row_factory": dict_row})

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


def text(body: str) -> Response:
    return Response(body, mimetype="text/plain")


@app.get("/")
def hello() -> Response:
    return text("Hello, World!")


@app.get("/wait")
def wait() -> Response:
    time.sleep(0.01)
    return text("waited")


@app.get("/json")
def json() -> Response:
    return jsonify(account())


@app.post("/echo")
def echo() -> Response:
    message = request.get_json()
    message["seen"] = True
    return jsonify(message)


@app.get("/db")
def row() -> Response:
    id = request.args.get("id", type=int)
    if id is None:
        abort(400)
    pool.open()  # in the worker that gunicorn forked; harmless if it is open
    with pool.connection() as connection:
        query = "SELECT id, name, price FROM item WHERE id = %s"
        item = connection.execute(query, (id,)).fetchone()
    if item is None:
        abort(404)
    return jsonify(item)


@app.get("/page")
def page() -> str:
    return render_template("page.html", rows=ROWS)


@app.post("/upload")
def upload() -> Response:
    length = checksum = 0
    while piece := request.stream.read(65536):
        length += len(piece)
        checksum = zlib.crc32(piece, checksum)
    return text(f"{length} {checksum:08x}")


def order(id: str, order: str) -> Response:
    return text(f"{request.endpoint} {id} {order} {request.args.get('page')}")


for collection in ["users", *(f"resource{n}" for n in range(1, 100))]:
    app.add_url_rule(f"/{collection}/<id>/orders/<order>", collection, order)
