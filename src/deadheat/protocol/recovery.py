"""The recovery that a decay study waits for after each trial."""

from pydantic import Field

from deadheat.catalog.manifest import Seconds, Strict


class Recovery(Strict):
    """`[recovery]`: watch the server until it is idle, then probe until it is fast again."""

    idle_cpus: float = Field(default=0.05, gt=0)  # CPUs in use; a server that uses no more is idle
    watch_s: Seconds = 60  # longest watch after one trial
    probe_s: Seconds = 1  # duration of one probe
    rate_share: float = Field(default=0.9, gt=0, le=1)  # of the first trial's rate
    limit_s: Seconds = 120  # longest recovery; the series ends after it
