"""The servers of the catalog that a command line chooses."""

from collections.abc import Sequence

from deadheat.campaign.schedule import Lineup, line_up
from deadheat.catalog import Catalog, Selection, Server, choose, find_root, load_catalog
from deadheat.errors import DeadheatError
from deadheat.output import echo
from deadheat.protocol import AloneProtocol, Protocol, SearchProtocol
from deadheat.protocol.figures import shipped_figures


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


def no_race(protocol: SearchProtocol) -> DeadheatError:
    """The error of a run or plan by a search."""
    return DeadheatError(
        f"--protocol {protocol.name}: it searches for a rate, and compares no servers",
        "deadheat capacity SERVERS searches; for a race, use another protocol",
    )
