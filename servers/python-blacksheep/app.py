from blacksheep import Application, Response, get, text

app = Application()


@get("/")
async def hello() -> Response:
    return text("Hello, World!")
