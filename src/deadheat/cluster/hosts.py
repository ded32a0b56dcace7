"""The hosts of a cluster, and the pairs that they make."""

from collections.abc import Sequence
from dataclasses import dataclass

from deadheat.errors import DeadheatError

ROLES = ("server", "load")
OFFER = """start its node with `ray start --address=HEAD:6379 --resources='{{"{role}": 1}}'`"""


@dataclass(frozen=True, slots=True)
class Node:
    """A host of the cluster. `roles` are those that it offers: `server`, `load` or both."""

    id: str
    address: str
    name: str
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostPair:
    """A server host and a load host; one node can be both."""

    number: int  # from 1
    server: Node
    load: Node

    @property
    def is_one_host(self) -> bool:
        """Whether both roles are on one machine, as in a run without `--server-host`."""
        return self.server.address == self.load.address

    def __str__(self) -> str:
        return f"pair {self.number}"


def pair_up(nodes: Sequence[Node]) -> tuple[tuple[HostPair, ...], tuple[Node, ...]]:
    """The pairs, and the nodes that have no partner.

    A node with both roles is a pair alone; the others are paired in the order of their addresses.
    Raises `DeadheatError` if a role is not offered.
    """
    ordered = sorted(nodes, key=lambda node: (node.address, node.id))
    for role in ROLES:
        if not any(role in node.roles for node in ordered):
            raise DeadheatError(
                f"no node of the cluster offers {role}: expected the custom resources `server` "
                "and `load`",
                OFFER.format(role=role),
            )
    both = [node for node in ordered if len(node.roles) == len(ROLES)]
    servers, loads = ([n for n in ordered if n.roles == (role,)] for role in ROLES)
    couples = [*((node, node) for node in both), *zip(servers, loads, strict=False)]
    left_over = (*servers[len(loads) :], *loads[len(servers) :])
    pairs = tuple(HostPair(n, server, load) for n, (server, load) in enumerate(couples, 1))
    return pairs, left_over
