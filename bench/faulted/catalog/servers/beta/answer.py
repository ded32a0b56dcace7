"""A server with a master process that replaces its worker when it ends."""

import os
import signal
import socket
import ssl
import sys
import threading

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
CLOSING = OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def answer(connection: socket.socket) -> None:
    received = b""
    try:
        if len(sys.argv) > 3:  # a certificate and its key
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*sys.argv[3:])
            connection = context.wrap_socket(connection, server_side=True)
        while chunk := connection.recv(4096):
            received += chunk
            while b"\r\n\r\n" in received:
                head, _, received = received.partition(b"\r\n\r\n")
                closes = b"connection: close" in head.lower()
                known = head.startswith(b"GET / ")
                connection.sendall((CLOSING if closes else OK) if known else MISSING)
                if closes:
                    connection.close()
                    return
    except OSError:
        pass


def work(listener: socket.socket) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    while True:
        threading.Thread(target=answer, args=listener.accept()[:1], daemon=True).start()


def end(*_: object) -> None:
    os.kill(worker, signal.SIGKILL)
    os._exit(0)


listener = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=128)
signal.signal(signal.SIGTERM, end)
while True:
    worker = os.fork()
    if worker == 0:
        work(listener)
    os.waitpid(worker, 0)
