HEADERS = [("Content-Type", "text/plain"), ("Content-Length", "13")]


def app(environ, start_response):
    if environ["REQUEST_METHOD"] == "GET" and environ["PATH_INFO"] == "/":
        start_response("200 OK", HEADERS)
        return [b"Hello, World!"]
    start_response("404 Not Found", [("Content-Length", "0")])
    return []
