import contextlib
import fcntl
import os
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


BEGIN_EARLY = (  # tests that take long, or wait for long
    *("tests/test_figures.py", "tests/servers/test_each_recipe.py", "tests/browser/"),
    *("tests/hosts/test_cut.py", "tests/hosts/test_ssh_host.py", "tests/fuzz/"),
    *("tests/stats/test_alpha_spending.py", "tests/stats/test_processors.py"),
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Each worker begins with a part of the long tests, so that none is alone at the end."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    early = [item for item in items if item.nodeid.startswith(BEGIN_EARLY)]
    others = [item for item in items if not item.nodeid.startswith(BEGIN_EARLY)]
    share = -(-len(others) // workers)
    items[:] = [
        item
        for worker in range(workers)
        for item in (*early[worker::workers], *others[worker * share : (worker + 1) * share])
    ]


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


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all workers of this session, for what is costly to make."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@contextlib.contextmanager
def made_once(folder: Path) -> Iterator[bool]:
    """Whether `folder` is to be filled now: the first worker fills it, and the others wait."""
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder.with_suffix(".done")
        folder.mkdir(exist_ok=True)
        yield not done.exists()
        done.touch()
