"""Right at first; ends without a word to its clients after so many requests."""

import os
import socket
import sys
import threading

ANSWER = (
    b"HTTP/1.1 200 OK\r\n"
    b"Content-Type: text/plain\r\n"
    b"Content-Length: 13\r\n\r\n"
    b"Hello, World!"
)
left = int(sys.argv[3])


def serve(connection: socket.socket) -> None:
    global left
    while connection.recv(4096):
        connection.sendall(ANSWER)
        left -= 1
        if left <= 0:
            print("out of memory", flush=True)
            os._exit(7)


listener = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=128)
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
