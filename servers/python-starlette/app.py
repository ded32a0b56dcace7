from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route


async def hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse("Hello, World!")


app = Starlette(routes=[Route("/", hello)])
