"""One sample: a null server on one core, a generator on another, and what the two used."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from bench.generators import Generator, engine
from deadheat.measure.certificates import certificates

SLICE_S = 0.06


@dataclass(frozen=True)
class Scene:
    kind: str
    """`kept`, `closed` (a connection per request; with TLS, a full handshake each), `slices`:
    connections are kept, and the engine is one resident process that loads for 60 ms at a time; or
    `http2`."""
    connections: int
    seconds: int
    tls: bool = False
    streams: int = 1
    """Concurrent requests on each connection of HTTP/2."""

    @classmethod
    def of_name(cls, name: str, seconds: int) -> Self:
        """From `kept-10`: the kind and the number of connections; `tls-` before it adds TLS, and
        `http2-10x5` has the streams."""
        kind, _, numbers = name.removeprefix("tls-").partition("-")
        connections, _, streams = numbers.partition("x")
        has_tls = name.startswith("tls-")
        return cls(kind, int(connections), seconds, has_tls, int(streams or 1))

    @property
    def name(self) -> str:
        streams = f"x{self.streams}" if self.kind == "http2" else ""
        return f"{'tls-' if self.tls else ''}{self.kind}-{self.connections}{streams}"

    def takes(self, generator: Generator) -> bool:
        """Whether a generator can send this load."""
        if generator.handshakes:
            return self.tls and self.kind == "closed" and self.connections == 1
        return {"closed": generator.closes, "http2": generator.http2}.get(self.kind, True)

    def __str__(self) -> str:
        streams = f", {self.streams} streams" if self.kind == "http2" else ""
        tls = ", TLS" if self.tls else ""
        return f"{self.connections} connections, {self.kind}{streams}{tls}"


@dataclass(frozen=True)
class Sample:
    cpu_s: float
    """User and system time of the generator, from wait4."""
    responses: int
    """By the server's count."""
    per_s: float
    """Of them, over the length of the sample."""

    @property
    def cpu_us_per_response(self) -> float:
        return self.cpu_s * 1e6 / self.responses

    def __str__(self) -> str:
        return f"{self.cpu_us_per_response:.2f} us, {self.per_s:,.0f} responses/s"


class NullServer:
    """`deadheat-load --null-server` on a free port; counts what it answers."""

    def __init__(self, certificate: Mapping[str, str] | None = None) -> None:
        command = [str(engine()), "--null-server", "0"]
        for name, path in (certificate or {}).items():
            command += [f"--{name}", path]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        if "listening on " not in line:
            raise RuntimeError(f"{' '.join(command)} did not listen: {line.strip()}")
        self.url = f"{'https' if certificate else 'http'}://{line.split()[-1]}/"

    def stop(self) -> int:
        """Ends the server; the number of requests it answered."""
        self._process.terminate()
        out, _ = self._process.communicate()
        return int(json.loads(out)["answered"])


def sample(scene: Scene, generator: Generator, *, client_core: int, server_core: int) -> Sample:
    """Runs a generator once; RuntimeError where it failed or got no response."""
    with certificates() as made, pinned(server_core):
        server = NullServer(made.values() if scene.tls else None)
    try:
        cpu_s = run(scene, generator, client_core, server.url)
    finally:
        responses = server.stop()
    if responses == 0:
        raise RuntimeError(f"{generator.name}: the server answered nothing")
    return Sample(cpu_s, responses, responses / scene.seconds)


def run(scene: Scene, generator: Generator, core: int, url: str) -> float:
    """User and system seconds of one run."""
    command = generator.command(scene.connections, scene.seconds, scene.kind, url, scene.streams)
    with pinned(core):
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "GOMAXPROCS": "1", "TOKIO_WORKER_THREADS": "1"},
        )
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as requests:
        if scene.kind == "slices" and generator.resident:
            requests.write(slice_requests(scene.seconds))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in generator.good_exits:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def slice_requests(seconds: int) -> bytes:
    """Lines that ask for as many slices as measure for that long."""
    count = round(seconds / SLICE_S)
    lines = (json.dumps({"id": number, "duration_s": SLICE_S}) for number in range(count))
    return "".join(f"{line}\n" for line in lines).encode()


@contextlib.contextmanager
def pinned(core: int) -> Iterator[None]:
    """Processes started in here run on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
