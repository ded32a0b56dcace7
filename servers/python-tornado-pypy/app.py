import asyncio
import os
import signal
import socket
import ssl
import sys
from multiprocessing import Process

import tornado.httpserver
import tornado.netutil
import tornado.web


class Hello(tornado.web.RequestHandler):
    def get(self) -> None:
        self.set_header("Content-Type", "text/plain")
        self.write("Hello, World!")


def tls() -> "ssl.SSLContext | None":
    if "CERT" not in os.environ:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(os.environ["CERT"], os.environ["KEY"])
    return context


async def serve(listeners: list[socket.socket]) -> None:
    app = tornado.web.Application([("/", Hello)])
    server = tornado.httpserver.HTTPServer(app, ssl_options=tls())
    server.add_sockets(listeners)
    await asyncio.Event().wait()


def work(listeners: list[socket.socket]) -> None:
    asyncio.run(serve(listeners))


if __name__ == "__main__":
    backlog = int(os.environ["BACKLOG"])
    listeners = tornado.netutil.bind_sockets(int(sys.argv[2]), sys.argv[1], backlog=backlog)
    workers = [
        Process(target=work, args=(listeners,), daemon=True) for _ in range(int(sys.argv[3]))
    ]
    for worker in workers:
        worker.start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # which ends the daemons as well
    for worker in workers:
        worker.join()
