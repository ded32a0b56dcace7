import os

# hypercorn closes a connection after 1000 requests by default.
keep_alive_max_requests = 1_000_000_000
worker_class = os.environ["WORKER_CLASS"]
certfile, keyfile = os.environ.get("CERT"), os.environ.get("KEY")
