"""Estimate of how long a race takes: arithmetic with stated assumptions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from deadheat import numbers
from deadheat.campaign.slice_lengths import FEWEST_INSTANCES, slice_s
from deadheat.measure.contender import CONTROL_WORKS
from deadheat.measure.warm_up import LIMIT_S
from deadheat.protocol import RateProtocol, Settle, SliceProtocol, Warmup
from deadheat.stats.warmup.warm_rule import BUDGET_S, Compiler
from deadheat.workload import parts_of

START_S = 2.0  # time until one server is ready
# Warm-up on each workload, as it was on a machine with two CPUs: in a race of ten servers over
# http, https and h2, starts took 1 to 2 s, 5 to 8 s (Node.js, Bun) and up to 20 s (the JVM).
WARM_S = {Compiler.NONE: 1.0, Compiler.JIT: 6.0, Compiler.TIERED: 18.0}
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
        parts = [parts_of(name) for name in self.contenders]
        transports = list(dict.fromkeys(transport for _, transport in parts))
        over = f" over {numbers.listing(transports)}" if len(transports) > 1 else ""
        servers = numbers.count(len({name for name, _ in parts}), "server")
        return (
            f"--budget {numbers.duration(self.most_s)} is too short for {servers}{over}, each "
            f"started twice: to start and warm up all takes about "
            f"{numbers.duration(self.invocation_start_s)}; "
            f"expected about {numbers.duration(self.useful_s)} or more"
        )


def estimate(
    protocol: SliceProtocol,
    names: Sequence[str],
    lacking: Sequence[str] = (),
    compilers: Mapping[str, Compiler] = MappingProxyType({}),
) -> Estimate:
    """Estimate from the protocol's figures and the constants above.

    A server has a name for each transport. `lacking` has an entry for each workload that one of
    the contenders does not answer. `compilers` are those of the servers of the catalog.
    """
    if isinstance(protocol, RateProtocol):
        protocol = protocol.resolved(NOMINAL_PER_S)  # only the number of rates counts
    stopping, warmup = protocol.stopping, protocol.warmup
    controls = len(CONTROL_WORKS) * len(protocol.transports) if protocol.controls else 0
    contenders = len(names) + controls
    trials = contenders * protocol.levels_each - len(lacking) * len(protocol.connections)
    block_s = trials * protocol.slices.rounds * slice_s(protocol)
    warm_ups = [_warm_s(warmup, compilers.get(name)) for name in names]
    warm_ups += [_warm_s(warmup, None)] * controls
    starts_s = [
        [START_S + warm_s * len(protocol.requested) for warm_s in each] for each in warm_ups
    ]
    usual_s = [each_s for _, each_s, _ in starts_s]
    start_s, own_s = math.fsum(usual_s), math.fsum(usual_s[: len(names)])
    useful_s = float(round(start_s + own_s + FEWEST_INSTANCES * block_s))
    least_blocks = stopping.invocations if isinstance(stopping, Settle) else stopping.repetitions
    least_s, longest_s = (
        stopping.invocations * math.fsum(each[at] for each in starts_s) + least_blocks * block_s
        for at in (0, 2)
    )
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
        most_s = longest_s
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


def _warm_s(warmup: Warmup, compiler: Compiler | None) -> tuple[float, float, float]:
    """How long an instance warms up on a workload: at least, usually, at most. None: not known."""
    if warmup.kind != "steady":
        warm_s = warmup.duration_s if warmup.kind == "fixed" else 0.0
        return warm_s, warm_s, warm_s
    scale = warmup.limit_s / LIMIT_S
    longest_s = max(scale * BUDGET_S[compiler or Compiler.NONE], warmup.least_s)
    usual_s = min(scale, 1.0) * WARM_S[compiler] if compiler else 0.0
    return warmup.least_s, min(max(usual_s, warmup.least_s), longest_s), longest_s
