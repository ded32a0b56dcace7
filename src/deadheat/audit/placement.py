"""Where the client of a replay ran, and what changed against a replay with its client elsewhere."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from deadheat import numbers
from deadheat.audit.beside import RowAgreement, agree, agreement_text, ranks, rates_by_row
from deadheat.audit.page import Section
from deadheat.audit.replay import Replay
from deadheat.report.formats.tables import Column, column
from deadheat.strict import JsonObject

SAME_MACHINE = (
    "the hosts share one machine: they are namespaces or containers of it and share its CPUs, so "
    "these are not rates of separate machines"
)


@dataclass(frozen=True, slots=True)
class PlacementChange:
    """One row at one level, with the client on the server's host and on another."""

    row: str
    one_host_per_s: float
    two_hosts_per_s: float
    rank_one_host: int
    rank_two_hosts: int

    @property
    def ratio(self) -> float:
        return self.two_hosts_per_s / self.one_host_per_s


@dataclass(frozen=True, slots=True)
class ChangedLevel:
    """One level that both replays have; its rows in the order of the rates on two hosts."""

    connections: int
    changes: tuple[PlacementChange, ...]
    agreement: RowAgreement | None

    @property
    def median_ratio(self) -> float:
        return statistics.median(change.ratio for change in self.changes)


@dataclass(frozen=True, slots=True)
class Placement:
    """A replay on two hosts, and one on one host if there is one."""

    two_hosts: Replay
    one_host: Replay | None
    levels: tuple[ChangedLevel, ...]

    def to_json(self) -> JsonObject:
        return {
            "two_hosts": self.two_hosts.run_id,
            "one_host": self.one_host.run_id if self.one_host else None,
            "levels": [asdict(level) for level in self.levels],
        }


def placement_of(replay: Replay, other: Replay | None) -> Placement | None:
    """None if no replay had its client on another host. `other` counts if its client was elsewhere
    than that of `replay`."""
    elsewhere = other if is_elsewhere(replay, other) else None
    two_hosts, one_host = (replay, elsewhere) if replay.links else (elsewhere, replay)
    if two_hosts is None:
        return None
    levels = _levels(one_host, two_hosts) if one_host is not None else ()
    return Placement(two_hosts, one_host, tuple(levels))


def is_elsewhere(replay: Replay, other: Replay | None) -> bool:
    """Whether one of them had its client on the server's host, and the other did not."""
    return other is not None and bool(replay.links) != bool(other.links)


def _levels(one_host: Replay, two_hosts: Replay) -> Iterator[ChangedLevel]:
    for connections in two_hosts.protocol.connections:
        rates = [rates_by_row(replay, connections) for replay in (one_host, two_hosts)]
        both = sorted(rates[0].keys() & rates[1].keys(), key=lambda row: -rates[1][row])
        if not both:
            continue
        before, after = ({row: by_row[row] for row in both} for by_row in rates)
        places = ranks(before), ranks(after)
        yield ChangedLevel(
            connections,
            tuple(
                PlacementChange(row, before[row], after[row], places[0][row], places[1][row])
                for row in both
            ),
            agree(list(before.values()), list(after.values())),
        )


def placement_sections(placement: Placement) -> Iterator[Section]:
    """What ran where, and a table of the changes if both replays exist."""
    two_hosts, one_host = placement.two_hosts, placement.one_host
    lines = [_roles(two_hosts), *_network(two_hosts)]
    if two_hosts.is_one_machine:
        lines.append(SAME_MACHINE[:1].upper() + SAME_MACHINE[1:] + ".")
    if one_host is None:
        hint = "Store a replay on one host too, and the audit compares the two."
        yield Section("The client on another host", (*lines, hint))
        return
    lines.append(
        f"Run {two_hosts.run_id} had its client on another host, run {one_host.run_id} on the "
        f"server's host: {one_host.protocol.label}."
    )
    lines += [
        f"At {level.connections:,} connections, two hosts over one host is "
        f"{level.median_ratio:.2f} in the median of {numbers.count(len(level.changes), 'row')}; "
        f"agreement of the ranks: {agreement_text(level.agreement)}."
        for level in placement.levels
    ]
    rows = [(level.connections, change) for level in placement.levels for change in level.changes]
    yield Section("The client on another host", tuple(lines), _table(rows) if rows else ())


def _roles(replay: Replay) -> str:
    origin = replay.protocol.origin
    published = (
        "as published"
        if origin and origin.client_host == "another"
        else ("while the published one ran on the server's host")
    )
    target = f" against {replay.target}" if replay.target else ""
    return f"{replay.protocol.generator} ran on the load host{target}, {published}."


def _network(replay: Replay) -> Iterator[str]:
    network = next((link.network for link in replay.links if link.network is not None), None)
    if network is not None:
        failed = ["network" in trial.gates_failed for c in replay.contenders for trial in c.trials]
        yield (
            f"The null server answers in {network.round_trip_us / 1000:.2f} ms over the link, "
            f"with {network.bytes_per_s * 8 / 1e6:,.0f} Mbit/s. The link limited "
            f"{sum(failed)} of {numbers.count(len(failed), 'trial')} (gate network)."
        )


def _table(rows: Sequence[tuple[int, PlacementChange]]) -> tuple[Column, ...]:
    changes = [change for _, change in rows]
    return (
        column(changes, "row", lambda change: change.row, False),
        column(rows, "connections", lambda row: f"{row[0]:,}"),
        column(changes, "one host\nreq/s", lambda change: numbers.rate(change.one_host_per_s)),
        column(changes, "two hosts\nreq/s", lambda change: numbers.rate(change.two_hosts_per_s)),
        column(changes, "two / one", lambda change: f"{change.ratio:.3f}"),
        column(changes, "rank on\none", lambda change: str(change.rank_one_host)),
        column(changes, "rank on\ntwo", lambda change: str(change.rank_two_hosts)),
    )
