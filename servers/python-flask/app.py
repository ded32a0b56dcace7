import logging
import os

from flask import Flask, Response
from werkzeug.serving import BaseWSGIServer

logging.getLogger("werkzeug").setLevel(logging.ERROR)  # its access log is at INFO
BaseWSGIServer.request_queue_size = int(os.environ["BACKLOG"])

app = Flask(__name__)


@app.get("/")
def hello() -> Response:
    return Response("Hello, World!", mimetype="text/plain")
