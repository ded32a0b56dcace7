import sys

import fapws._evwsgi as evwsgi
from fapws import base


def hello(environ, start_response):
    if environ["REQUEST_METHOD"] == "GET" and environ["PATH_INFO"] == "":
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "13")])
        return ["Hello, World!"]
    start_response("404 Not Found", [("Content-Length", "0")])
    return []


evwsgi.start(sys.argv[1], sys.argv[2])
evwsgi.set_base_module(base)
evwsgi.wsgi_cb(("/", hello))
evwsgi.run()
