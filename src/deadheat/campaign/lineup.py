"""The lineup of a replay: the contender of each published row, and the rows without one.

Manifests assign rows with `[[published]]`; a protocol assigns the rest.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from deadheat.catalog import Catalog, Selection, selection
from deadheat.protocol import Protocol
from deadheat.protocol.figures import Figures


@dataclass(frozen=True, slots=True)
class Lineup:
    """Contenders in the order of the published rows, and rows without a contender."""

    selections: tuple[Selection, ...]
    labels: Mapping[str, str]  # contender -> published row
    missing: Mapping[str, str]  # published row -> why it has no contender
    strays: tuple[str, ...]  # rows of manifests that the figures do not have


def line_up(
    protocol: Protocol, catalog: Catalog, figures: Figures, only: Collection[str] | None = None
) -> Lineup:
    """The contender of every published row, limited to the servers in `only` if given.

    A row may have two contenders, and both run. A contender has one row.
    """
    labels: dict[str, str] = {}
    selections: dict[str, Selection] = {}
    missing = dict.fromkeys(figures.rows, "no server here")
    strays = []
    for row, claim in _claims(protocol, catalog):
        if isinstance(claim, str):
            missing[row] = claim
        elif row not in figures.rows:
            strays.append(f"{claim.name}: {figures.name} has no row {row!r}")
        elif claim.name in labels:
            missing[row] = f"{claim.name} already has row {labels[claim.name]!r}"
        else:
            labels[claim.name], selections[claim.name] = row, claim
    if only is not None:
        for name in [name for name, s in selections.items() if s.server.name not in only]:
            missing[labels.pop(name)] = f"{name} is not selected"
            del selections[name]
    with_contender = set(labels.values())
    place = {row: number for number, row in enumerate(figures.rows)}
    order = sorted(selections, key=lambda name: (place[labels[name]], name))
    return Lineup(
        selections=tuple(selections[name] for name in order),
        labels={name: labels[name] for name in order},
        missing={row: missing[row] for row in figures.rows if row not in with_contender},
        strays=tuple(strays),
    )


def _claims(protocol: Protocol, catalog: Catalog) -> Iterator[tuple[str, Selection | str]]:
    """Published rows with their contender, or why there is none; those of the protocol first."""
    for entry in protocol.contenders:
        row = entry.label or entry.server
        if entry.server in catalog.servers:
            server = catalog.servers[entry.server]
            yield row, selection(server, entry.setting, entry.workers)
        elif entry.server in catalog.faults:
            yield row, f"{entry.server} cannot be read"
        else:
            yield row, f"no server {entry.server}"
    if protocol.origin is None:
        return
    for server in catalog.servers.values():
        for published in server.manifest.published:
            if published.protocol == protocol.origin.figures:
                yield published.row, selection(server, published.setting)
