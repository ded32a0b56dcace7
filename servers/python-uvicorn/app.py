import asyncio
from urllib.parse import parse_qs

HEADERS = [(b"content-type", b"text/plain"), (b"content-length", b"13")]
COLLECTIONS = {"users", *(f"resource{n}" for n in range(1, 100))}  # ASGI has no router


async def app(scope, receive, send):
    if scope["method"] == "GET" and scope["path"] == "/":
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": b"Hello, World!"})
    elif scope["method"] == "GET" and scope["path"] == "/wait":
        await asyncio.sleep(0.01)
        await answer(send, "waited")
    elif scope["method"] == "GET" and (text := order(scope)) is not None:
        await answer(send, text)
    else:
        await send({"type": "http.response.start", "status": 404})
        await send({"type": "http.response.body"})


def order(scope):
    """The answer to /COLLECTION/{id}/orders/{order}?page=N, or None."""
    match scope["path"].split("/"):
        case ["", collection, id, "orders", order] if collection in COLLECTIONS:
            page = parse_qs(scope["query_string"].decode()).get("page", [""])[0]
            return f"{collection} {id} {order} {page}"
    return None


async def answer(send, text):
    body = text.encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
