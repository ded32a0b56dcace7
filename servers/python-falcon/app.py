import time
import zlib
from pathlib import Path

import falcon
from jinja2 import Environment, FileSystemLoader

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


class Hello:
    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        response.content_type = falcon.MEDIA_TEXT
        response.text = "Hello, World!"


class Wait:
    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        time.sleep(0.01)
        response.content_type = falcon.MEDIA_TEXT
        response.text = "waited"


class Account:
    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        response.media = account()


class Echo:
    def on_post(self, request: falcon.Request, response: falcon.Response) -> None:
        message = request.get_media()
        message["seen"] = True
        response.media = message


class Page:
    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        response.content_type = falcon.MEDIA_HTML
        response.text = PAGE.render(rows=ROWS)


class Upload:
    def on_post(self, request: falcon.Request, response: falcon.Response) -> None:
        length = checksum = 0
        while piece := request.bounded_stream.read(65536):
            length += len(piece)
            checksum = zlib.crc32(piece, checksum)
        response.content_type = falcon.MEDIA_TEXT
        response.text = f"{length} {checksum:08x}"


class Orders:
    def __init__(self, collection: str) -> None:
        self.collection = collection

    def on_get(
        self, request: falcon.Request, response: falcon.Response, id: str, order: str
    ) -> None:
        response.content_type = falcon.MEDIA_TEXT
        response.text = f"{self.collection} {id} {order} {request.get_param('page')}"


app = falcon.App()
app.add_route("/", Hello())
app.add_route("/wait", Wait())
app.add_route("/json", Account())
app.add_route("/echo", Echo())
app.add_route("/page", Page())
app.add_route("/upload", Upload())
for collection in ["users", *(f"resource{n}" for n in range(1, 100))]:
    app.add_route(f"/{collection}/{{id}}/orders/{{order}}", Orders(collection))
