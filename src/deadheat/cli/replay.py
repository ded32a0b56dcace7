"""Steps that commands share for replays: the line-up, the limits of this machine, the decay."""

from collections.abc import Sequence
from pathlib import Path

from deadheat.audit.decay import decay_page, load_series
from deadheat.audit.page import Page
from deadheat.audit.replay import Replay
from deadheat.campaign.resolve import Resolved, fit_to
from deadheat.campaign.schedule import Lineup, line_up
from deadheat.catalog import Catalog
from deadheat.cli.hosts import Hosts, host_of
from deadheat.cli.workbench import chosen_servers
from deadheat.measure.world import cpus_of_load, split_cpus
from deadheat.output import echo
from deadheat.protocol import AloneProtocol, Protocol
from deadheat.protocol.figures import Figures, read_figures, shipped_figures
from deadheat.store import Store

DECAY = "landshark-2009-decay"  # the one published series


def replay_lineup(
    protocol: Protocol, catalog: Catalog, patterns: Sequence[str], languages: Sequence[str]
) -> Lineup | None:
    """Which contender stands for which published row; None if the protocol is not a replay.

    Names, globs and languages narrow it. Warns about a manifest's claim to a row that does not
    exist.
    """
    if not isinstance(protocol, AloneProtocol) or protocol.origin is None:
        return None
    figures = shipped_figures(catalog.root, protocol.origin.figures)
    chosen = chosen_servers(catalog, patterns, languages)
    only = {server.name for server in chosen} if patterns or languages else None
    lineup = line_up(protocol, catalog, figures, only)
    for stray in lineup.strays:
        echo(f"left out: {stray}", fg="yellow", err=True)
    return lineup


def fit_here(protocol: AloneProtocol, hosts: Hosts) -> Resolved[AloneProtocol]:
    """The protocol within the limits of the machines."""
    with host_of(hosts.server) as host:
        fingerprint = host.fingerprint()
    if hosts:
        with host_of(hosts.load) as host:
            load = host.fingerprint()
        return fit_to(protocol, load, fingerprint, len(cpus_of_load(load, 1)))
    crowded = protocol.origin is not None
    _, load_cpus = split_cpus(fingerprint, protocol.threads, crowded)
    return fit_to(protocol, fingerprint, fingerprint, len(load_cpus))


def decay_of(store: Store, replay: Replay, root: Path) -> Page:
    """Decay and recovery of a stored run, with the published series if the catalog has it."""
    return decay_page(replay, load_series(store, replay), figures_if_any(root, DECAY))


def figures_if_any(root: Path, name: str) -> Figures | None:
    """The figures of `published/NAME.csv`, None if the catalog has no such file."""
    path = root / "published" / f"{name}.csv"
    return read_figures(path) if path.is_file() else None
