import asyncio
import os
import signal
import socket
import sys
from multiprocessing import Process

import tornado.httpserver
import tornado.netutil
import tornado.web


class Hello(tornado.web.RequestHandler):
    def get(self) -> None:
        self.set_header("Content-Type", "text/plain")
        self.write("Hello, World!")


async def serve(listeners: list[socket.socket]) -> None:
    server = tornado.httpserver.HTTPServer(tornado.web.Application([("/", Hello)]))
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
