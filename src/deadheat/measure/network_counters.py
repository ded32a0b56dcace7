"""The network counters of a host over a load."""

from collections.abc import Sequence

from deadheat.host import Sample

LOAD = "load_"  # in front of the counters of a load host


def increases(samples: Sequence[Sample], front: str = "") -> dict[str, int]:
    """The increase of each counter from the first sample to the last; `front` goes before names."""
    first, last = samples[0].network, samples[-1].network
    counters = sorted(first.keys() & last.keys())
    return {f"{front}{counter}": last[counter] - first[counter] for counter in counters}
