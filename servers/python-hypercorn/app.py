HEADERS = [(b"content-type", b"text/plain"), (b"content-length", b"13")]


async def app(scope, receive, send):
    if scope["method"] == "GET" and scope["path"] == "/":
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": b"Hello, World!"})
    else:
        await send({"type": "http.response.start", "status": 404})
        await send({"type": "http.response.body"})
