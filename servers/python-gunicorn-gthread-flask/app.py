from flask import Flask, Response

app = Flask(__name__)


@app.get("/")
def hello() -> Response:
    return Response("Hello, World!", mimetype="text/plain")
