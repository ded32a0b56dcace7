"""One load in equal parts, for several processes."""

from dataclasses import replace

from deadheat.load.base import LoadSpec


def shares(spec: LoadSpec, count: int) -> list[LoadSpec]:
    """Equal parts of the connections, and of the request cap and the rate if given.

    The first parts have the rest of the connections. Fewer than `count` parts if there are fewer
    connections, because a part has at least one.
    """
    count = min(count, spec.connections)
    least, rest = divmod(spec.connections, count)
    return [
        replace(
            spec,
            connections=least + (number < rest),
            request_cap=spec.request_cap and spec.request_cap // count,
            rate_per_s=spec.rate_per_s and spec.rate_per_s / count,
            seed=spec.seed + number,
        )
        for number in range(count)
    ]
