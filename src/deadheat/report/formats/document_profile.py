"""The parts of a JSON document about a run of several workloads."""

from deadheat.report.formats.document_part import Finite, Part


class Share(Part):
    """A server on one workload. What is unknown is null."""

    workload: str
    connections: int
    rate_per_s: Finite | None
    ratio: Finite | None
    """To the best rate on this workload, with its interval."""
    low: Finite | None
    high: Finite | None
    server_cpu_us_per_request: Finite | None


class ProfileRow(Part):
    """A server over the workloads that it answers."""

    name: str
    shares: tuple[Share, ...]


class Mover(Part):
    """A server whose place differs, among those that answer both workloads."""

    name: str
    place_before: int
    place: int
    places_apart: bool
    """The intervals of its two places do not overlap."""
    cpu_us_more: Finite | None
    """CPU time per request on top of that on the first workload."""


class Prediction(Part):
    """How well the order on one workload is that on another."""

    by: str
    workload: str
    tau_b: Finite | None
    """Kendall's tau-b; null where one of the two has no ranking."""
    low: Finite | None
    high: Finite | None
    """A 95 % interval for servers drawn like these (Fieller, Hartley and Pearson 1957); null for
    fewer than five."""
    servers: int
    inversions: tuple[tuple[str, str], ...]
    """Pairs that both workloads separate, in opposite order."""
    movers: tuple[Mover, ...]
    """The servers that move most, those whose places are apart first."""
    cpu_us_more: Finite | None
    """The median of `cpu_us_more` over all servers."""
    text: tuple[str, ...]


class Profile(Part):
    """Every server at the main level of each workload."""

    rows: tuple[ProfileRow, ...]
    predictions: tuple[Prediction, ...]
