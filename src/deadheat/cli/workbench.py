"""What most commands need: the catalog, a host, a builder, a world."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from deadheat.build.builder import Builder
from deadheat.catalog import Catalog, Server, choose, find_root, load_catalog
from deadheat.host import Host
from deadheat.host.local import LocalHost
from deadheat.load import Engine, generator, generator_version
from deadheat.measure.world import World, split_cpus
from deadheat.store import Store, StoreError, home
from deadheat.store.listing import runs_under_way

DISK_FREE_BYTES_MIN = 200 * 1024**2
OTHER_PLACE = "make room there, or name another place with DEADHEAT_HOME or --store FILE"


def open_catalog(given: str | None) -> Catalog:
    """The catalog of --catalog, or the one found."""
    return load_catalog(find_root(given))


def chosen_servers(
    catalog: Catalog, patterns: Sequence[str] = (), languages: Sequence[str] = ()
) -> list[Server]:
    """`choose`; where all are meant, every manifest that is left out for a fault is told."""
    if not patterns:
        for fault in catalog.faults.values():
            click.secho(f"left out: {fault}", fg="yellow", err=True)
    return choose(catalog, patterns, languages)


def make_room(*places: Path) -> None:
    """Make the folders, and see that a run fits. Raises `StoreError` before anything is done."""
    for place in places:
        try:
            place.mkdir(parents=True, exist_ok=True)
            free_bytes = shutil.disk_usage(place).free
        except OSError as error:
            raise StoreError(
                f"{place} cannot be made: {error.filename}: {error.strerror}", OTHER_PLACE
            ) from error
        if not os.access(place, os.W_OK):
            raise StoreError(f"{place} cannot be written", OTHER_PLACE)
        if free_bytes < DISK_FREE_BYTES_MIN:
            raise StoreError(
                f"less than {DISK_FREE_BYTES_MIN // 1024**2} MiB are free in {place}", OTHER_PLACE
            )


def tell_others(store: Store) -> None:
    """Tell each run of this store that is under way: two at once disturb one another."""
    for run_id in runs_under_way(store):
        told = f"run {run_id} is under way: the two will disturb one another; end one"
        click.secho(told, fg="yellow", err=True)


def builder_on(host: Host) -> Builder:
    """A builder into deadheat's home."""
    return Builder(host, home() / "builds")


@contextmanager
def local_world(generator_name: str, load_threads: int, crowded: bool = False) -> Iterator[World]:
    """This machine as server host and load host, on disjoint CPUs (`crowded`: see `split_cpus`)."""
    with LocalHost() as host:
        server_cpus, load_cpus = split_cpus(host.fingerprint(), load_threads, crowded)
        chosen = generator(generator_name)
        engine = chosen if isinstance(chosen, Engine) else Engine()
        logs: Path = home() / "logs"
        make_room(logs)
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
