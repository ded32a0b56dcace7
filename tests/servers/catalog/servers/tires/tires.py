"""Fast until its clients leave; then it uses CPU time, or stays slow."""

import socket
import sys
import threading
import time

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"
burn_s, delay_s = float(sys.argv[3]), float(sys.argv[4])
CROWD = 8  # more connections than a verification opens
lock = threading.Lock()
present = most = 0
tired = False


def serve(connection: socket.socket) -> None:
    global present, most
    with lock:
        present += 1
        most = max(most, present)
    try:
        while connection.recv(4096):
            if tired:
                time.sleep(delay_s)
            connection.sendall(ANSWER)
    except OSError:
        pass
    with lock:
        present -= 1
        crowd_left = present == 0 and most >= CROWD
        if crowd_left:
            most = 0
    if crowd_left:
        tire()


def tire() -> None:
    global tired
    tired = delay_s > 0
    until = time.thread_time() + burn_s
    while time.thread_time() < until:
        pass


listener = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=128)
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
