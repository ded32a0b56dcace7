"""A proxy without a backend: always answers 502."""

import socket
import sys

ANSWER = (
    b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 11\r\n\r\nBad Gateway"
)

listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    connection, _ = listener.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(ANSWER)
