"""`Link`: the network between two hosts, as the null server saw it."""

from dataclasses import dataclass

from deadheat.load import LoadResult, LoadSpec


@dataclass(frozen=True, slots=True)
class Link:
    """What the null server reaches over it: an upper bound for every server.

    `round_trip_us` is the time of one request on an open connection, `bytes_per_s` the rate of
    large answers on a few connections.
    """

    round_trip_us: float
    bytes_per_s: float

    def share(self, spec: LoadSpec, result: LoadResult) -> tuple[float, str]:
        """How much of the link a load used, at most 1 or a little more, and of what.

        In a closed loop, N connections with a round trip of T get at most N / T answers a second
        (Little, 1961); a connection for each request takes two round trips.
        """
        shares = []
        if result.bytes_in is not None and result.elapsed_s:
            shares.append((result.bytes_in / result.elapsed_s / self.bytes_per_s, "bandwidth"))
        if spec.rate_per_s is None:
            trips = 1 if spec.keep_alive else 2
            most_per_s = spec.connections * 1e6 / (trips * self.round_trip_us)
            shares.append((result.rate_per_s / most_per_s, "round trip"))
        return max(shares, default=(0.0, "bandwidth"))
