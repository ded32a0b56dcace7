"""The real binaries, run to their end: our engine, its null server, wrk and ab."""

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
LIMIT_S = 30  # a run that lasts longer hangs


def engine_binary() -> str:
    """Where the engine is; skips the test where it was not built."""
    try:
        return find_engine()
    except GeneratorMissing as missing:
        pytest.skip(str(missing))


def run_engine(
    url: str, *arguments: str, before: Sequence[str] = (), **options: Any
) -> tuple[dict[str, Any], int]:
    """The JSON document and the exit code; `before` is put in front of the command."""
    command = [*before, engine_binary(), url, "--json", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, **options)
    if "--backend io_uring: not allowed here" in ran.stderr:
        pytest.skip(ran.stderr)
    assert ran.stdout, ran.stderr
    return json.loads(ran.stdout), ran.returncode


def run_other(tool: type[Wrk] | type[Ab], spec: LoadSpec, version: str | None = None) -> LoadResult:
    """What wrk or ab counted.

    Skips the test where the tool is not installed, or where its version does not begin with
    `version`: a test of its bugs is about that version alone.
    """
    generator = tool()
    if shutil.which(generator.name) is None:
        pytest.skip(f"{generator.name} is not installed: {generator.install_hint()}")
    installed = generator.version(_completed(generator.version_command()))
    if version is not None and not f"{installed}.".startswith(f"{version}."):
        pytest.skip(f"about {generator.name} {version}; {installed} is installed")
    return generator.parse(spec, _completed(generator.command(spec)), installed)


def _completed(command: Sequence[str]) -> Completed:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    return Completed(ran.returncode, ran.stdout, ran.stderr, elapsed_s=0.0, cpu_s=0.0)


def answers_accounted_for(document: dict[str, Any]) -> int:
    """Answers that the engine says it got: before the run, before the measured window, in it."""
    before = document["requests"]["preflight"] + document["warmup"]["classes"]["ok"]
    return int(before + document["classes"]["ok"])


@dataclass
class NullServer:
    """A running null server; `counts` is there once it has ended."""

    process: subprocess.Popen[str]
    url: str
    counts: dict[str, int] = field(default_factory=dict)


@contextmanager
def null_server(*arguments: str, before: Sequence[str] = ()) -> Iterator[NullServer]:
    """The engine's own server; by its end it has said what it answered."""
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
