import asyncio
import os
import signal
import socket
import sys
from multiprocessing import Process

import uvloop
from aiohttp import web


async def hello(request: web.Request) -> web.Response:
    return web.Response(text="Hello, World!")


def serve(listener: socket.socket) -> None:
    app = web.Application()
    app.router.add_get("/", hello)
    loop = uvloop.new_event_loop() if os.environ["LOOP"] == "uvloop" else asyncio.new_event_loop()
    web.run_app(app, sock=listener, backlog=2048, access_log=None, print=None, loop=loop)


if __name__ == "__main__":
    listener = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=2048)
    workers = [
        Process(target=serve, args=(listener,), daemon=True) for _ in range(int(sys.argv[3]))
    ]
    for worker in workers:
        worker.start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # which ends the daemons as well
    for worker in workers:
        worker.join()
