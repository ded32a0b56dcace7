"""A proxy whose backend is not there."""

import socket
import sys

ANSWER = (
    b"HTTP/1.1 502 Bad Gateway\r\n"
    b"Content-Type: text/html\r\n"
    b"Content-Length: 11\r\n\r\n"
    b"Bad Gateway"
)

listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    connection, _ = listener.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(ANSWER)
