"""A trial in the JSON document: its gates, its latencies and its figures."""

from typing import Any, Literal

from deadheat.report.formats.document_part import Finite, Part
from deadheat.report.model.series import Series


class Latency(Part):
    """A distribution of times, in microseconds. A quantile q is null below 100 / (1 - q)."""

    requests: int
    merged: bool
    """True: over all requests together. False: medians over trials of the generator's figures."""
    mean_us: Finite | None
    p50_us: Finite | None
    p75_us: Finite | None
    p90_us: Finite | None
    p99_us: Finite | None
    p99_9_us: Finite | None
    p99_99_us: Finite | None
    max_us: Finite | None
    curve: tuple[tuple[Finite, Finite], ...]
    """(q, microseconds): quantiles equally spaced in log10(1 - q), up to the last that enough
    requests support."""


class FailedGate(Part):
    """A check of a trial's validity that failed."""

    code: str
    reading: Finite | None
    threshold: Finite | None
    unit: Literal["share", "count", "us", "per_10k"] | None
    """Unit of both: a share of 1, a count, microseconds, or events per 10,000 requests."""
    advice: str


class Trial(Part):
    """One load run against one contender at one level."""

    invocation: int
    block: int
    at_s: Finite
    """Start of the trial, since the run's start."""
    command: tuple[str, ...]
    heat: int
    """1, unless not all contenders fit into memory together."""
    valid: bool
    """Only a valid trial ranks: it ended with a rate, and passed every gate."""
    state: Literal["ok", "failed"]
    reason: str | None
    rate_per_s: Finite | None
    requests_ok: int
    server_cpu_us_per_request: Finite | None
    database_cpu_us_per_request: Finite | None
    """CPU time of the workload's database, beside the server's; null without one."""
    memory_peak_bytes: int | None
    errors: dict[str, int]
    """Failed requests by class; rates do not include them."""
    gates_failed: tuple[FailedGate, ...]
    elapsed_s: Finite | None
    """The time measured; of a trial of slices, that of all slices."""
    slices: tuple[dict[str, Any], ...]
    """The slices that the trial is the sum of; empty where it is one load, and where the document
    leaves them out (`series_trials_max`). `at_s` counts from the run's start."""
    series: Series | None
    """Null if nothing was recorded, or if the document leaves it out (`series_trials_max`)."""
