"""Forks; both processes ignore SIGTERM."""

import os
import signal
import socket
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    signal.pause()
listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    connection, _ = listener.accept()
    with connection:
        path = (connection.recv(4096).split() + [b""] * 2)[1]
        connection.sendall(ANSWER if path == b"/" else MISSING)
