"""How many rounds a block has: more while few contenders race.

Instances are replaced between blocks, and each contender needs several in the budget. So a block of
a large field is short. With few contenders it is longer, and less of the race goes to new
connections, which each block opens.
"""

from deadheat.protocol import Protocol

BLOCK_SHARE = 0.1  # of the budget: what a block of every contender that still races may take
BETWEEN_SLICES_S = 0.005  # thaw, command, drain and freeze


def slice_s(protocol: Protocol) -> float:
    """What a slice takes, in seconds, with all that is not counted."""
    if protocol.slices is None:
        raise ValueError(f"protocol {protocol.name} has no slices")
    return protocol.duration_s + protocol.slices.discard_s + BETWEEN_SLICES_S


def rounds_of_block(protocol: Protocol, contenders: int) -> int:
    """The rounds of a block while this many contenders race, from `rounds` to `rounds_max`."""
    if protocol.slices is None:
        raise ValueError(f"protocol {protocol.name} has no slices")
    round_s = max(1, contenders) * len(protocol.levels) * slice_s(protocol)
    fitting = int(BLOCK_SHARE * protocol.stopping.budget_s / round_s)
    fewest = protocol.slices.rounds
    return max(fewest, min(fitting, protocol.slices.rounds_max or fewest))
