"""How many rounds a block has: more while few contenders race.

A start takes as long for two contenders as for ten, so a longer block spends less of the race on
starts. A block of a large field stays short: each contender needs several instances in the budget.
"""

from deadheat.protocol import Protocol

BLOCK_SHARE = 0.1  # of the budget, that a block may take if it has more rounds than it needs
BETWEEN_SLICES_S = 0.005  # thaw, command, drain and freeze


def slice_s(protocol: Protocol) -> float:
    """What a slice takes, in seconds, with all that is not counted."""
    if protocol.slices is None:
        raise ValueError(f"protocol {protocol.name} has no slices")
    return protocol.duration_s + protocol.slices.discard_s + BETWEEN_SLICES_S


def rounds_of_block(protocol: Protocol, contenders: int) -> int:
    """The rounds of a block of this many contenders, from `rounds` to `rounds_max`."""
    if protocol.slices is None:
        raise ValueError(f"protocol {protocol.name} has no slices")
    round_s = max(1, contenders) * len(protocol.levels) * slice_s(protocol)
    fitting = int(BLOCK_SHARE * protocol.stopping.budget_s / round_s)
    fewest = protocol.slices.rounds
    return max(fewest, min(fitting, protocol.slices.rounds_max or fewest))
