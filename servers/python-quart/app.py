from quart import Quart, Response

app = Quart(__name__)


@app.get("/")
async def hello() -> Response:
    return Response("Hello, World!", mimetype="text/plain")
