import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from deadheat.host.local import LocalHost
from deadheat.load import Engine, generator_version
from deadheat.measure.world import LoadSide, World, split_cpus

# A shell ignores SIGINT for what it runs in the background, and so would every command of a test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def signal_handlers() -> Iterator[None]:
    """A command that a test runs in this process leaves handlers that ignore signals."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, handlers, strict=True):
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """This machine, loaded by our own engine."""
    with LocalHost() as host:
        server_cpus, load_cpus = split_cpus(host.fingerprint(), 1)
        engine = Engine()
        version = generator_version(engine, host)
        logs = tmp_path_factory.mktemp("logs")
        yield World(
            server_host=host,
            server_cpus=tuple(server_cpus),
            loads=(LoadSide(host, tuple(load_cpus), engine, logs),),
            generator=engine,
            generator_version=version,
            engine_version=version,
            server_engine=engine,
            logs=logs,
        )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path
