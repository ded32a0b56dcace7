"""Answers correctly, and exits after a number of requests without closing connections."""

import os
import socket
import sys
import threading

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
left = int(sys.argv[3])
ending = threading.Lock()


def serve(connection: socket.socket) -> None:
    global left
    while request := connection.recv(4096):
        connection.sendall(ANSWER if request.split()[1] == b"/" else MISSING)
        left -= 1
        if left <= 0 and ending.acquire():  # one thread alone says why
            print("out of memory", flush=True)
            os._exit(7)


listener = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=128)
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
