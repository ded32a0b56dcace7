"""The placements of the CPUs during a race, in the JSON document."""

from deadheat.report.formats.document_part import Finite, Part


class Placement(Part):
    """Where the hypervisor had put the CPUs, in a share of the slices."""

    core_to_core_ns: Finite
    """How long a cache line took from a server's CPU to a load CPU: the median."""
    share: Finite
    """Of all slices. What the shares lack to 1 are slices during which the CPUs moved."""
    share_in_rates: Finite
    """Its share while most contenders raced: rates and ratios are for this mix."""
    rate_ratios: dict[str, Finite]
    """The median rate of each contender's slices in this placement over that in the first one, of
    those with enough slices in both."""
