"""Fast until its clients leave for the first time; then it uses CPU time once, or stays slow."""

import socket
import sys
import threading
import time

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
burn_s, delay_s = float(sys.argv[3]), float(sys.argv[4])
CROWD = 8  # more connections than a verification opens
lock = threading.Lock()
present = most = 0
slow = tired = False


def serve(connection: socket.socket) -> None:
    global present, most, tired
    with lock:
        present += 1
        most = max(most, present)
    try:
        while connection.recv(4096):
            if slow:
                time.sleep(delay_s)
            connection.sendall(ANSWER)
    except OSError:
        pass
    with lock:
        present -= 1
        tires = present == 0 and most >= CROWD and not tired
        tired |= tires
    if tires:
        tire()


def tire() -> None:
    global slow
    slow = delay_s > 0
    until = time.thread_time() + burn_s
    while time.thread_time() < until:
        pass


listener = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=128)
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
