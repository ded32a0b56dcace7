"""Listens and accepts, but never answers."""

import socket
import sys

listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
accepted = []
while True:
    accepted.append(listener.accept())
