import os
import sys
from wsgiref.simple_server import WSGIServer

from bottle import Bottle, response

app = Bottle()


@app.get("/")
def hello() -> str:
    response.content_type = "text/plain"
    return "Hello, World!"


class Server(WSGIServer):
    request_queue_size = int(os.environ["BACKLOG"])


app.run(host=sys.argv[1], port=int(sys.argv[2]), server_class=Server, quiet=True)
