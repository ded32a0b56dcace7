from robyn import Headers, Response, Robyn

app = Robyn(__file__)


@app.get("/")
async def hello() -> Response:
    return Response(200, Headers({"Content-Type": "text/plain"}), "Hello, World!")


if __name__ == "__main__":
    app.start()
