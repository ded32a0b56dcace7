"""Estimate of how long a race takes: arithmetic with stated assumptions."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from deadheat import numbers
from deadheat.campaign.slice_lengths import FEWEST_INSTANCES, slice_s
from deadheat.measure.contender import CONTROL_WORKS
from deadheat.protocol import RateProtocol, Settle, SliceProtocol

START_S = 2.0  # time until one server is ready
NOMINAL_PER_S = 1e6


@dataclass(frozen=True, slots=True)
class Estimate:
    """What would run. `least_s` is the shortest duration; `most_s` the longest that is allowed.

    With a shorter budget than `useful_s`, not every contender gets an interval.
    """

    protocol: str
    about: str
    contenders: tuple[str, ...]
    connections: tuple[int, ...]
    workloads: tuple[str, ...]
    trials_per_block: int
    block_s: float
    invocation_start_s: float
    least_blocks: int
    least_s: float
    most_s: float
    useful_s: float
    rule: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def lines(self) -> list[str]:
        levels = ", ".join(map(str, self.connections))
        return [
            f"{self.protocol}: {self.about}",
            f"contenders    {', '.join(self.contenders)}",
            f"connections   {levels}",
            f"each block    {self.trials_per_block} trials, about {self.block_s:.0f} s",
            f"starting all  about {self.invocation_start_s:.0f} s, with warm-up",
            f"ends          {self.rule}",
            f"takes         {numbers.duration(self.least_s)} at least, "
            f"{numbers.duration(self.most_s)} at most, without builds",
            *([f"WARNING       {self.too_short}"] if self.too_short else []),
        ]

    @property
    def too_short(self) -> str | None:
        """What is wrong with the budget; None if it may be enough."""
        if self.most_s >= self.useful_s:
            return None
        return (
            f"--budget {numbers.duration(self.most_s)} is too short for "
            f"{numbers.count(len(self.contenders), 'server')}, each started twice; "
            f"expected about {numbers.duration(self.useful_s)} or more"
        )


def estimate(
    protocol: SliceProtocol, names: Sequence[str], lacking: Sequence[str] = ()
) -> Estimate:
    """Estimate from the protocol's figures and the constants above.

    A server has a name for each transport. `lacking` has an entry for each workload that one of
    the contenders does not answer.
    """
    if isinstance(protocol, RateProtocol):
        protocol = protocol.resolved(NOMINAL_PER_S)  # only the number of rates counts
    stopping, warmup = protocol.stopping, protocol.warmup
    controls = len(CONTROL_WORKS) * len(protocol.transports) if protocol.controls else 0
    contenders = len(names) + controls
    trials = contenders * protocol.levels_each - len(lacking) * len(protocol.connections)
    block_s = trials * protocol.slices.rounds * slice_s(protocol)
    warm_s = {"none": 0.0, "fixed": warmup.duration_s, "steady": warmup.least_s}[warmup.kind]
    start_s = contenders * (START_S + warm_s * len(protocol.requested))
    own_s = len(names) * (START_S + warm_s * len(protocol.requested))
    useful_s = float(round(start_s + own_s + FEWEST_INSTANCES * block_s))
    least_blocks = stopping.invocations if isinstance(stopping, Settle) else stopping.repetitions
    least_s = stopping.invocations * start_s + least_blocks * block_s
    if isinstance(protocol, RateProtocol):
        least_s = most_s = stopping.time_limit_s
        rule = f"after {numbers.duration(most_s)}, with one look at all that was measured"
    elif isinstance(stopping, Settle):
        most_s = stopping.budget_s
        rule = (
            f"when every neighboring pair is separated or equivalent within "
            f"{numbers.percent(stopping.margin, 0)}, or after {numbers.duration(stopping.budget_s)}"
        )
    else:
        search_s = warmup.limit_s - warm_s if warmup.kind == "steady" else 0.0
        warm_ups = stopping.invocations * contenders * len(protocol.requested)
        most_s = least_s + warm_ups * max(0.0, search_s)
        rule = f"after {stopping.repetitions} repetitions"
    return Estimate(
        protocol=protocol.label,
        about=protocol.about,
        contenders=tuple(names),
        connections=protocol.connections,
        workloads=protocol.workload_names,
        trials_per_block=trials,
        block_s=block_s,
        invocation_start_s=start_s,
        least_blocks=least_blocks,
        least_s=min(least_s, most_s),
        most_s=most_s,
        useful_s=useful_s if isinstance(stopping, Settle) else 0.0,
        rule=rule,
    )
