"""How long slices and blocks take, with all that is not counted."""

from deadheat.protocol import Protocol

BETWEEN_SLICES_S = 0.008  # thaw, command, drain and freeze
# Of a contender's part of the budget: the slices of its first instances. Starts take as much, and
# the rest is for contenders that need more of both.
FIRST_SLICES_SHARE = 1 / 3


def within_budget(protocol: Protocol, contenders: int) -> Protocol:
    """The protocol with shorter slices, if that gives each contender more instances in the budget.

    With two or three instances, an interval is several times as wide as with four, and the length
    of slices matters less.
    """
    rule, stopping = protocol.slices, protocol.stopping
    fixed = stopping.kind == "fixed"
    if rule is None or rule.shortest_s is None or contenders == 0 or fixed:
        return protocol
    part_s = stopping.budget_s / contenders / len(protocol.levels)
    each_s = FIRST_SLICES_SHARE * part_s / stopping.invocations / rule.rounds
    fitting_s = round(each_s - rule.discard_s - BETWEEN_SLICES_S, 2)
    duration_s = min(protocol.duration_s, max(rule.shortest_s, fitting_s))
    return protocol.model_copy(update={"duration_s": duration_s})


def slice_s(protocol: Protocol) -> float:
    """Seconds that a slice takes; more where a server is slow."""
    if protocol.slices is None:
        raise ValueError(f"protocol {protocol.name} has no slices")
    return protocol.duration_s + protocol.slices.discard_s + BETWEEN_SLICES_S


def block_s(protocol: Protocol, contenders: int) -> float:
    """Seconds that a block of this many contenders takes, at all levels."""
    if protocol.slices is None:
        raise ValueError(f"protocol {protocol.name} has no slices")
    return contenders * len(protocol.levels) * protocol.slices.rounds * slice_s(protocol)
