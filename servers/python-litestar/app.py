from litestar import Litestar, MediaType, get


@get("/", media_type=MediaType.TEXT)
async def hello() -> str:
    return "Hello, World!"


app = Litestar([hello])
