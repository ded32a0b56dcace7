import sys

from sanic import Request, Sanic
from sanic.response import HTTPResponse, text

app = Sanic("hello")


@app.get("/")
async def hello(request: Request) -> HTTPResponse:
    return text("Hello, World!")


if __name__ == "__main__":
    app.run(
        host=sys.argv[1],
        port=int(sys.argv[2]),
        workers=int(sys.argv[3]),
        backlog=2048,
        access_log=False,
        motd=False,
    )
