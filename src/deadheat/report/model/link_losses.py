"""`LinkLosses`: what was lost on the link between two hosts during the trials of a run."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import NonNegativeInt
from pydantic.dataclasses import dataclass

from deadheat.measure.network_counters import LOAD
from deadheat.report.model.shape import SHAPE
from deadheat.store import StoredRun
from deadheat.store.rows import StoredTrial

DROPS = ("ifInDiscards", "ifOutDiscards")


@dataclass(config=SHAPE, frozen=True, slots=True)
class HostLosses:
    """Of everything that used the host's network meanwhile; null where the kernel counts none."""

    segments_resent: NonNegativeInt | None
    """TCP segments that the host's kernel sent again."""
    packets_dropped: NonNegativeInt | None
    """Packets that its interfaces dropped, received or to be sent."""


@dataclass(config=SHAPE, frozen=True, slots=True)
class LinkLosses:
    """Losses on both sides. The client's are of the load engine's own connections."""

    server: HostLosses
    load: HostLosses
    client_segments_resent: NonNegativeInt | None
    client_segments_out_of_order: NonNegativeInt | None
    """Segments of the server that arrived before an earlier one."""

    @classmethod
    def of(cls, run: StoredRun) -> "LinkLosses | None":
        """Summed over all trials; None for a run on one machine."""
        if all(host.fingerprint.interface is None for host in run.hosts):
            return None
        results = [trial.result for trial in run.trials]
        increases = list(_increases(run.trials))
        return cls(
            server=_host_losses(increases, ""),
            load=_host_losses(increases, LOAD),
            client_segments_resent=_sum(results, "retransmits"),
            client_segments_out_of_order=_sum(results, "out_of_order"),
        )


def _increases(trials: tuple[StoredTrial, ...]) -> Iterator[Mapping[str, Any]]:
    """The counters of each trial; trials of slices in one block share theirs."""
    blocks: set[tuple[int, int]] = set()
    for trial in trials:
        result = trial.result
        if isinstance(own := result.get("network"), Mapping):
            yield own
        elif isinstance(shared := result.get("block_network"), Mapping):
            place = (trial.heat, trial.block)
            if place not in blocks:
                blocks.add(place)
                yield shared


def _host_losses(increases: list[Mapping[str, Any]], front: str) -> HostLosses:
    drops = [_sum(increases, front + name) for name in DROPS]
    known = [number for number in drops if number is not None]
    resent = _sum(increases, f"{front}RetransSegs")
    return HostLosses(resent, sum(known) if known else None)


def _sum(rows: list[Mapping[str, Any]], name: str) -> int | None:
    numbers = [row[name] for row in rows if isinstance(row.get(name), int)]
    return sum(max(0, number) for number in numbers) if numbers else None
