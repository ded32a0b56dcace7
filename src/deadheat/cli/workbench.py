"""What most commands open: the catalog, a builder, folders to write to."""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deadheat.build.builder import Builder, FarBuilder
from deadheat.catalog import Catalog, Selection, Server, choose, find_root, load_catalog
from deadheat.errors import DeadheatError
from deadheat.host import Host, Limits
from deadheat.host.local import LocalHost
from deadheat.host.ssh import SshHost
from deadheat.measure.world import World
from deadheat.output import echo
from deadheat.protocol import Protocol
from deadheat.store import Store, StoreError, home
from deadheat.store.listing import runs_under_way

DISK_FREE_BYTES_MIN = 200 * 1024**2
OTHER_PLACE = "free space there, or choose another place with DEADHEAT_HOME or --store FILE"


def command_line() -> list[str]:
    """This call of deadheat, as runs and reports quote it."""
    return ["deadheat", *sys.argv[1:]]


def open_catalog(folder: str | None) -> Catalog:
    """The catalog of --catalog, or the default one."""
    return load_catalog(find_root(folder))


def chosen_servers(
    catalog: Catalog, patterns: Sequence[str] = (), languages: Sequence[str] = ()
) -> list[Server]:
    """The servers that match. Without patterns, warns about each manifest with an error."""
    if not patterns:
        for fault in catalog.faults.values():
            echo(f"left out: {fault}", fg="yellow", err=True)
    return choose(catalog, patterns, languages)


def answering(selections: Sequence[Selection], protocol: Protocol) -> list[Selection]:
    """The servers that answer some workload of the protocol; says where which are left out.

    Raises `DeadheatError` for a workload that none of some servers answers.
    """
    for name in protocol.workload_names:
        missing = lacking(selections, name)
        if missing and len(missing) == len({each.server.name for each in selections}):
            raise DeadheatError(
                f"--workload {name}: none of the chosen servers answers it: {', '.join(missing)}",
                "`deadheat list --json` shows the workloads of each server",
            )
        if missing:
            message = f"left out, without the workload {name}: {', '.join(missing)}"
            echo(message, fg="yellow", err=True)
    names = set(protocol.workload_names)
    return [each for each in selections if names & set(each.server.manifest.workloads)]


def lacking(selections: Sequence[Selection], workload: str) -> list[str]:
    """The names of the servers that do not answer a workload."""
    servers = [each.server for each in selections]
    return [*dict.fromkeys(s.name for s in servers if workload not in s.manifest.workloads)]


def make_room(*places: Path) -> None:
    """Make the folders. Raises `StoreError` if one cannot be written or has no space for a run."""
    for place in places:
        try:
            place.mkdir(parents=True, exist_ok=True)
            free_bytes = shutil.disk_usage(place).free
        except OSError as error:
            raise StoreError(
                f"{place} cannot be created: {error.filename}: {error.strerror}", OTHER_PLACE
            ) from error
        if not os.access(place, os.W_OK):
            raise StoreError(f"{place} cannot be written", OTHER_PLACE)
        if free_bytes < DISK_FREE_BYTES_MIN:
            raise StoreError(
                f"{place} has less than {DISK_FREE_BYTES_MIN // 1024**2} MiB of free space",
                OTHER_PLACE,
            )


def warn_of_running_runs(store: Store) -> None:
    """Warn about each run of this store in progress: two runs disturb each other."""
    for run_id in runs_under_way(store):
        warning = f"run {run_id} is in progress: two runs disturb each other; stop one"
        echo(warning, fg="yellow", err=True)


def builder_on(host: Host, limits: Limits | None = None) -> Builder:
    """A builder that writes to deadheat's home, or to the cache of another machine."""
    step_s = limits.build_step_s if limits else None
    if isinstance(host, SshHost):
        return FarBuilder(host, step_s)
    return Builder(host, home() / "builds", step_s)


@contextmanager
def host_for_builds(world: World, limits: Limits, isolate: bool) -> Iterator[Host]:
    """The server host; if that is isolated, this machine, because builds download packages."""
    if not isolate:
        yield world.server_host
        return
    with LocalHost(limits=limits) as host:
        yield host
