"""Standings: the valid rates so far, and what they decide."""

import statistics
from collections.abc import Sequence

import numpy as np

from deadheat.campaign.racer import CANARY
from deadheat.protocol import Protocol
from deadheat.stats.ranking import Ranking, rank
from deadheat.store import TrialRecord

NAN = float("nan")


class Standings:
    """Rates by level, invocation, block and rival; NaN where a trial failed or was not valid."""

    def __init__(self, protocol: Protocol, rivals: Sequence[str]) -> None:
        self._protocol = protocol
        self._rivals = list(rivals)
        self._open: dict[tuple[str, int], float] = {}
        self._blocks: list[tuple[int, dict[tuple[str, int], float]]] = []
        self._invocation = 0
        self._ceilings: dict[int, list[float]] = {}

    @property
    def rivals_left(self) -> bool:
        return bool(self._rivals)

    def drop(self, name: str) -> None:
        """Take a rival out: it could not start."""
        if name in self._rivals:
            self._rivals.remove(name)

    def add(self, name: str, connections: int, record: TrialRecord) -> None:
        """Take in a trial of the open block."""
        self._invocation = record.invocation
        valid = record.state == "ok" and all(gate.passed for gate in record.gates)
        rate = record.rate_per_s if valid and record.rate_per_s else NAN
        if name == CANARY:
            if record.state == "ok" and record.rate_per_s:
                self.set_ceiling(connections, record.rate_per_s)
        else:
            self._open[name, connections] = rate

    def close_block(self) -> None:
        """The block is complete."""
        self._blocks.append((self._invocation, self._open))
        self._open = {}

    def set_ceiling(self, connections: int, rate_per_s: float) -> None:
        """What the client reached against the null server."""
        self._ceilings.setdefault(connections, []).append(rate_per_s)

    def ceiling_per_s(self, connections: int) -> float | None:
        """The median of what the client reached against the null server at this level."""
        seen = self._ceilings.get(connections)
        return statistics.median(seen) if seen else None

    def ranking(self, connections: int) -> Ranking | None:
        """The ranking at one level; None where there is nothing to compare yet."""
        rates = self._rates(connections)
        if len(self._rivals) < 2 or rates.size == 0:
            return None
        stopping = self._protocol.stopping
        return rank(rates, self._rivals, margin=stopping.margin, confidence=stopping.confidence)

    @property
    def settled(self) -> bool:
        """Whether every neighbouring pair is separated or equivalent, at every level.

        Looks begin with the last of the invocations asked for: start-to-start variance is not
        seen in fewer.
        """
        stopping = self._protocol.stopping
        if stopping.kind != "settle" or self._invocation < stopping.invocations:
            return False
        rankings = [self.ranking(level) for level in self._protocol.connections]
        return all(ranking is not None and ranking.settled for ranking in rankings)

    def _rates(self, connections: int) -> np.ndarray:
        """rates[invocation, block, rival], padded with NaN."""
        by_invocation: dict[int, list[list[float]]] = {}
        for invocation, rates in self._blocks:
            row = [rates.get((name, connections), NAN) for name in self._rivals]
            by_invocation.setdefault(invocation, []).append(row)
        longest = max(map(len, by_invocation.values()), default=0)
        padding = [NAN] * len(self._rivals)
        return np.array(
            [rows + [padding] * (longest - len(rows)) for rows in by_invocation.values()]
        )
