"""The line-up of a replay: which contender stands for which published row, and which row has none.

The manifests say it (`[[published]]`); a protocol spells only what no manifest says.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from deadheat.catalog import Catalog, Selection, selection
from deadheat.protocol import Protocol
from deadheat.protocol.figures import Figures


@dataclass(frozen=True, slots=True)
class Lineup:
    """Contenders in the order of the published rows, and what could not be lined up."""

    selections: tuple[Selection, ...]
    labels: Mapping[str, str]  # contender -> published row
    missing: Mapping[str, str]  # published row -> why nothing stands for it
    strays: tuple[str, ...]  # what a manifest claims to stand for and the figures do not have


def line_up(
    protocol: Protocol, catalog: Catalog, figures: Figures, only: Collection[str] | None = None
) -> Lineup:
    """Every published row's contender; of the servers named in `only`, if given.

    Where two contenders stand for one row, both run. One contender stands for one row.
    """
    labels: dict[str, str] = {}
    found: dict[str, Selection] = {}
    missing = dict.fromkeys(figures.rows, "no server here stands for it")
    strays = []
    for row, one in _claims(protocol, catalog):
        if isinstance(one, str):
            missing[row] = one
        elif row not in figures.rows:
            strays.append(f"{one.name}: {figures.name} has no row {row!r}")
        elif one.name in labels:
            missing[row] = f"{one.name} stands for {labels[one.name]!r} already"
        else:
            labels[one.name], found[one.name] = row, one
    if only is not None:
        for name in [name for name, one in found.items() if one.server.name not in only]:
            missing[labels.pop(name)] = f"{name} was not asked for"
            del found[name]
    stood_for = set(labels.values())
    place = {row: number for number, row in enumerate(figures.rows)}
    order = sorted(found, key=lambda name: (place[labels[name]], name))
    return Lineup(
        selections=tuple(found[name] for name in order),
        labels={name: labels[name] for name in order},
        missing={row: missing[row] for row in figures.rows if row not in stood_for},
        strays=tuple(strays),
    )


def _claims(protocol: Protocol, catalog: Catalog) -> Iterator[tuple[str, Selection | str]]:
    """Published rows, each with its contender or why there is none; the protocol's own first."""
    for entry in protocol.contenders:
        row = entry.label or entry.server
        if entry.server in catalog.servers:
            server = catalog.servers[entry.server]
            yield row, selection(server, entry.setting, entry.workers)
        elif entry.server in catalog.faults:
            yield row, f"{entry.server} cannot be read"
        else:
            yield row, f"there is no server {entry.server}"
    if protocol.origin is None:
        return
    for server in catalog.servers.values():
        for published in server.manifest.published:
            if published.protocol == protocol.origin.figures:
                yield published.row, selection(server, published.setting)
