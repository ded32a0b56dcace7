def app(environ, start_response):
    if environ["REQUEST_METHOD"] != "GET" or environ["PATH_INFO"] != "/":
        start_response("404 Not Found", [("Content-Length", "0")])
        return []
    body = b"Hello, World!"
    headers = [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))]
    start_response("200 OK", headers)
    return [body]
