"""The parts of the JSON document that stand behind the figures."""

import datetime

from deadheat.report.formats.document_part import Finite, Part


class Series(Part):
    """Within one trial: the generator's windows, and the server's use, a column each.

    Times are from the trial's beginning. A rate is the mean of the window that ends there; CPU
    use that since the value before, 1 being one CPU.
    """

    rate_at_s: tuple[Finite, ...]
    rate_per_s: tuple[Finite, ...]
    usage_at_s: tuple[Finite, ...]
    cpu_cores: tuple[Finite, ...]
    memory_bytes: tuple[int, ...]


class Build(Part):
    """How a server was built."""

    key: str
    """Content hash of its folder, recipe and toolchains."""
    built_at: datetime.datetime
    elapsed_s: Finite
    toolchains: dict[str, str]
    files: dict[str, str]
    """Sources and lock files, with their SHA-256."""
    log: str


class RawOutput(Part):
    """What the load generator printed in one trial: the one nearest the median rate."""

    invocation: int
    block: int
    connections: int
    command: tuple[str, ...]
    stdout: str
    """As printed, but for packed histograms and what is too long; it says what is left out."""
    stderr: str


class PublishedRate(Part):
    """A published rate at one level, and its place among that level's rows."""

    connections: int
    rate_per_s: Finite
    rank: int
    rows: int


class PublishedRow(Part):
    """A row of a published comparison that the server stands for."""

    comparison: str
    row: str
    setting: str
    """The server's setting that repeats the row most closely."""
    differs: tuple[str, ...]
    rates: tuple[PublishedRate, ...]
