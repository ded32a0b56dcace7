"""The gate of the network between two hosts. See `judge`."""

from deadheat.measure.gates.evidence import Evidence, at_most
from deadheat.store import Gate

LINK_SHARE_MAX = 0.8
ADVICE = {
    "bandwidth": "the network's bandwidth limited it: use a faster network, or smaller answers",
    "round trip": "the network's round trip limited it: use more connections, or a shorter way",
}


def network(evidence: Evidence) -> Gate | None:
    """The rate is well below what the null server reaches over the link.

    None on one machine, and for the controls, which are loaded to find such limits.
    """
    if evidence.link is None:
        return None
    share, limit = evidence.link.share(evidence.spec, evidence.result)
    return at_most("network", share, LINK_SHARE_MAX, "share", ADVICE[limit])
