"""What `run` and `plan` share of a replay: its line-up, and what this machine does otherwise."""

from collections.abc import Sequence

import click

from deadheat.campaign.lineup import Lineup, line_up
from deadheat.catalog import Catalog
from deadheat.cli.workbench import chosen_servers
from deadheat.protocol import Protocol
from deadheat.protocol.figures import shipped_figures


def replay_lineup(
    protocol: Protocol, catalog: Catalog, patterns: Sequence[str], languages: Sequence[str]
) -> Lineup | None:
    """Who stands for which published row; None where the protocol replays nothing.

    Names, globs and languages narrow it. What a manifest claims in vain is told.
    """
    if protocol.origin is None:
        return None
    figures = shipped_figures(catalog.root, protocol.origin.figures)
    chosen = chosen_servers(catalog, patterns, languages)
    only = {server.name for server in chosen} if patterns or languages else None
    found = line_up(protocol, catalog, figures, only)
    for stray in found.strays:
        click.secho(f"left out: {stray}", fg="yellow", err=True)
    return found


def on_one_host(protocol: Protocol) -> Protocol:
    """The protocol as it runs here, with client and server on one machine; a replay tells it."""
    if protocol.origin is None or protocol.origin.client_host == "same":
        return protocol
    told = (*protocol.deviations, "client on the same host")
    return protocol.model_copy(update={"deviations": told})
