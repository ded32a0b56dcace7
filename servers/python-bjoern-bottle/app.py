import os
import signal
import sys
from email.utils import formatdate
from multiprocessing import Process

import bjoern
from bottle import Bottle, response

app = Bottle()


@app.get("/")
def hello() -> str:
    response.content_type = "text/plain"
    return "Hello, World!"


if "DATE" in os.environ:

    @app.hook("after_request")
    def date() -> None:
        response.set_header("Date", formatdate(usegmt=True))


if __name__ == "__main__":
    bjoern.listen(app, sys.argv[1], int(sys.argv[2]))
    workers = [Process(target=bjoern.run, daemon=True) for _ in range(int(sys.argv[3]))]
    for worker in workers:
        worker.start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # which ends the daemons as well
    for worker in workers:
        worker.join()
