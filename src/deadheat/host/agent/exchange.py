"""One connection: bytes sent, bytes received."""

from __future__ import annotations

import base64
import socket
import time

from .fault import Fault, Json

EXCHANGE_BYTES_MAX = 4 << 20


def exchange(host: str, port: int, payload: bytes, silence_s: float, deadline_s: float) -> Json:
    """Send and receive; `deadline_s` bounds all of it, however often single bytes arrive."""
    where = f"{host}:{port}"
    end_s = time.monotonic() + deadline_s
    try:
        connection = socket.create_connection((host, port), min(silence_s, deadline_s))
    except OSError as error:
        raise Fault(f"no connection to {where}: {error}") from error
    received = bytearray()
    closed, in_time = False, True
    with connection:
        try:
            connection.settimeout(max(0.001, end_s - time.monotonic()))
            connection.sendall(payload)
            while not closed and in_time:
                left_s = end_s - time.monotonic()
                connection.settimeout(max(0.001, min(silence_s, left_s)))
                chunk = connection.recv(1 << 16)
                received += chunk
                closed, in_time = not chunk, time.monotonic() < end_s
                if len(received) > EXCHANGE_BYTES_MAX:
                    raise Fault(f"{where} sent more than {EXCHANGE_BYTES_MAX} bytes")
        except socket.timeout:  # noqa: UP041 (not TimeoutError before 3.10)
            in_time = time.monotonic() < end_s
        except OSError as error:
            if not received:
                raise Fault(f"{where} closed the connection: {error}") from error
            closed = True
    answer = base64.b64encode(received).decode()
    return {"received": answer, "closed": closed, "in_time": closed or in_time}
