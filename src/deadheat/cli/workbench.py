"""What most commands need: the catalog, a host, a builder, a world."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deadheat.campaign.build import Builder
from deadheat.campaign.world import World, split_cpus
from deadheat.catalog import Catalog, find_root, load_catalog
from deadheat.host import Host
from deadheat.host.local import LocalHost
from deadheat.load import Engine, generator, generator_version
from deadheat.store import home


def open_catalog(given: str | None) -> Catalog:
    """The catalog of --catalog, or the one found."""
    return load_catalog(find_root(given))


def builder_on(host: Host) -> Builder:
    """A builder into deadheat's home."""
    return Builder(host, home() / "builds")


@contextmanager
def local_world(generator_name: str, load_threads: int) -> Iterator[World]:
    """This machine as server host and load host, on disjoint CPUs."""
    with LocalHost() as host:
        server_cpus, load_cpus = split_cpus(host.fingerprint(), load_threads)
        chosen = generator(generator_name)
        engine = chosen if isinstance(chosen, Engine) else Engine()
        logs: Path = home() / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        yield World(
            server_host=host,
            load_host=host,
            server_cpus=tuple(server_cpus),
            load_cpus=tuple(load_cpus),
            generator=chosen,
            generator_version=generator_version(chosen, host),
            engine=engine,
            engine_version=generator_version(engine, host),
            logs=logs,
        )
