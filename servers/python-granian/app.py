HEADERS = [("content-type", "text/plain")]


async def app(scope, protocol):
    if scope.method == "GET" and scope.path == "/":
        protocol.response_str(200, HEADERS, "Hello, World!")
    else:
        protocol.response_empty(404, [])
