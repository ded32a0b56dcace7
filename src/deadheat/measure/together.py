"""Slices of several load processes at the same time, for one server.

Each process loads and discards until `GO`, and loads on after its window until `STOP`. `GO` goes
out when all of them load, `STOP` when all have measured. So every window lies within the time in
which all of them load, although no clocks are compared.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from deadheat.host import Host
from deadheat.load import LoadResult, LoadSpec
from deadheat.load.merging import merge_parts
from deadheat.load.slices import GO, STOP, SliceRequest, read_point, read_slice


@dataclass(frozen=True, slots=True)
class LoadPart:
    """One of several load processes: its host, its id there, and its part of the load."""

    host: Host
    process: str
    spec: LoadSpec


def slice_together(
    parts: Sequence[LoadPart],
    request: SliceRequest,
    number: int,
    deadline_s: float,
    version: str,
    now_s: Callable[[], float],
) -> LoadResult:
    """One slice of all parts. `now_s` is a clock of this machine.

    Raises `DeadheatError`; then parts may still load, so end their processes.
    """
    line = replace(request, together=True).line(number)

    def ask(part: LoadPart, said: str | None) -> str:
        return part.host.ask(part.process, said, deadline_s)

    def begin(part: LoadPart) -> tuple[float, float]:
        """When it was asked to measure, at the earliest, and when it did, at the latest."""
        sent_s = now_s()
        read_point(ask(part, GO), "going", number)
        return sent_s, now_s()

    with ThreadPoolExecutor(len(parts)) as pool:
        for waiting in pool.map(lambda part: ask(part, line), parts):
            read_point(waiting, "waiting", number)
        begun = list(pool.map(begin, parts))
        for measured in pool.map(lambda part: ask(part, None), parts):
            read_point(measured, "measured", number)
        answers = list(pool.map(lambda part: ask(part, STOP), parts))
    results = [read_slice(answer, number, version) for answer in answers]
    skew_s = max(latest_s for _, latest_s in begun) - min(sent_s for sent_s, _ in begun)
    return merge_parts([part.spec for part in parts], results, round(skew_s * 1e6, 1))
