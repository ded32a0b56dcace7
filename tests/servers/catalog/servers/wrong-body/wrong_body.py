"""Answers with an extra line feed."""

import socket
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 14\r\n\r\nHello, World!\n"

listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    connection, _ = listener.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(ANSWER)
