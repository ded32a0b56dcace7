import time

from flask import Flask, Response, request

app = Flask(__name__)


def text(body: str) -> Response:
    return Response(body, mimetype="text/plain")


@app.get("/")
def hello() -> Response:
    return text("Hello, World!")


@app.get("/wait")
def wait() -> Response:
    time.sleep(0.01)
    return text("waited")


def order(id: str, order: str) -> Response:
    return text(f"{request.endpoint} {id} {order} {request.args.get('page')}")


for collection in ["users", *(f"resource{n}" for n in range(1, 100))]:
    app.add_url_rule(f"/{collection}/<id>/orders/<order>", collection, order)
