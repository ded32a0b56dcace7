"""Runs the real programs: the engine, its null server, wrk and ab."""

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from deadheat.host import Completed
from deadheat.load import GeneratorMissing, LoadResult, LoadSpec, find_engine
from deadheat.load.ab import Ab
from deadheat.load.wrk import Wrk

BACKENDS = pytest.mark.parametrize("backend", ["epoll", "io_uring"])
LIMIT_S = 30  # a longer run hangs


def engine_binary() -> str:
    """The path of the engine; skips the test if it was not built."""
    try:
        return find_engine()
    except GeneratorMissing as missing:
        pytest.skip(str(missing))


def run_engine(
    url: str, *arguments: str, before: Sequence[str] = (), **options: Any
) -> tuple[dict[str, Any], int]:
    """The JSON document and the exit code; `before` is a prefix of the command."""
    command = [*before, engine_binary(), url, "--json", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, **options)
    if "--backend io_uring: not allowed here" in ran.stderr:
        pytest.skip(ran.stderr)
    assert ran.stdout, ran.stderr
    return json.loads(ran.stdout), ran.returncode


def run_other(tool: type[Wrk] | type[Ab], spec: LoadSpec) -> LoadResult:
    """The result of wrk or ab; skips the test if it is not installed."""
    generator = tool()
    if shutil.which(generator.name) is None:
        pytest.skip(f"{generator.name} is not installed: {generator.install_hint()}")
    command = generator.command(spec)
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    completed = Completed(ran.returncode, ran.stdout, ran.stderr, elapsed_s=0.0, cpu_s=0.0)
    return generator.parse(spec, completed, "")


def answers_accounted_for(document: dict[str, Any]) -> int:
    """The responses that the engine counted: in the preflight, the warm-up and the window."""
    before = document["requests"]["preflight"] + document["warmup"]["classes"]["ok"]
    return int(before + document["classes"]["ok"])


@dataclass
class NullServer:
    """A running null server; it sets `counts` when it ends."""

    process: subprocess.Popen[str]
    url: str
    counts: dict[str, int] = field(default_factory=dict)


@contextmanager
def null_server(*arguments: str, before: Sequence[str] = ()) -> Iterator[NullServer]:
    """The engine's null server; `counts` is set at the end of the block."""
    command = [*before, engine_binary(), "--null-server", "0", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        address = process.stderr.readline().strip().rpartition(" ")[2]
        server = NullServer(process, f"http://{address}/")
        try:
            yield server
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            server.counts.update(json.loads(process.stdout.read()))
