"""Answers with another media type."""

import socket
import sys

ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\nHello, World!"
)

listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    connection, _ = listener.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(ANSWER)
