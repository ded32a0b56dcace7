import os
import signal
import sys
import threading

from cheroot.wsgi import Server

HEADERS = [("Content-Type", "text/plain"), ("Content-Length", "13")]


def app(environ, start_response):
    if environ["REQUEST_METHOD"] == "GET" and environ["PATH_INFO"] == "/":
        start_response("200 OK", HEADERS)
        return [b"Hello, World!"]
    start_response("404 Not Found", [("Content-Length", "0")])
    return []


if __name__ == "__main__":
    threading.stack_size(512 * 1024)
    server = Server(
        (sys.argv[1], int(sys.argv[2])),
        app,
        numthreads=int(sys.argv[3]),
        request_queue_size=int(os.environ["BACKLOG"]),
    )
    server.keep_alive_conn_limit = 10000
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    server.safe_start()
