"""Always answers 404."""

import socket
import sys

ANSWER = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nNot Found"

listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    connection, _ = listener.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(ANSWER)
