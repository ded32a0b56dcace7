"""The servers that misbehave on purpose, ready to start: `tests/servers/catalog`, unbuilt."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from deadheat.build.builder import Built
from deadheat.measure.contender import Contender, contender_from
from deadheat.catalog import selection, load_server
from deadheat.host import Host, HostError, ProcessSpec

CATALOG = Path(__file__).with_name("catalog")
PYTHON = (sys.executable, "-I", "-S")  # starts sooner than what the manifests name


def contender(name: str, setting: str = "default") -> Contender:
    """A server of the catalog that runs where it lies."""
    folder = CATALOG / "servers" / name
    server = load_server(folder, CATALOG / "recipes")
    made = contender_from(
        selection(server, setting), Built(server, "key", folder, "", 0.0, {}, {}, cached=True)
    )
    return replace(made, command=(*PYTHON, *made.command[1:]))


@contextmanager
def running(host: Host, name: str, log_path: Path) -> Iterator[str]:
    """The URL of a started server that answers."""
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
        return host.exchange(("127.0.0.1", port), request, 5).received != b""
    except HostError:
        return False
