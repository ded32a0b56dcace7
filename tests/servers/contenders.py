"""Servers that misbehave on purpose, from `tests/servers/catalog`, ready to start unbuilt."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from deadheat.build.builder import Built
from deadheat.catalog import load_server, selection
from deadheat.host import Host, HostError, ProcessSpec
from deadheat.measure.contender import Contender, contender_from

CATALOG = Path(__file__).with_name("catalog")
PYTHON = (sys.executable, "-I", "-S")  # starts faster than the command of the manifests


def contender(name: str, setting: str = "default") -> Contender:
    """The contender of a server in the test catalog, run from its folder."""
    folder = CATALOG / "servers" / name
    server = load_server(folder, CATALOG / "recipes")
    made = contender_from(
        selection(server, setting), Built(server, "key", folder, "", 0.0, {}, {}, cached=True)
    )
    return replace(made, command=(*PYTHON, *made.command[1:]))


@contextmanager
def running(host: Host, name: str, log_path: Path) -> Iterator[str]:
    """The URL of a running server."""
    port = host.free_port()
    process = host.start(ProcessSpec(contender(name).command_at(port)), str(log_path))
    while not _answers(host, port):
        ended = host.alive(process)
        assert ended is None, f"{name} {ended}: {log_path.read_text()}"
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        host.stop(process, "SIGKILL", 10)


def _answers(host: Host, port: int) -> bool:
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    try:
        return host.exchange(("127.0.0.1", port), request, 5, 30).received != b""
    except HostError:
        return False
