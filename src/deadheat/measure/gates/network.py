"""Gates of the network between hosts. See `judge`."""

from deadheat.measure.gates.evidence import Evidence, at_most
from deadheat.store import Gate

LINK_SHARE_MAX = 0.8
SKEW_SHARE_MAX = 0.1  # of the window
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


def skew(evidence: Evidence) -> Gate | None:
    """The windows of several load hosts overlap: they began at most a tenth of one apart.

    All hosts load during each window, so a skew is no bias. But the rate of the set is the sum of
    rates that are not of quite the same time. None with one load host.
    """
    result = evidence.result
    if result.skew_us is None or not result.elapsed_s:
        return None
    advice = "the load hosts began too far apart: use longer slices (--duration), or hosts nearby"
    window_s = evidence.window_s or result.elapsed_s
    share = result.skew_us / 1e6 / window_s
    return at_most("skew", share, SKEW_SHARE_MAX, "share", advice)
