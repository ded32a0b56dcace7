"""What a decay study waits for after each trial."""

from pydantic import Field

from deadheat.catalog.manifest import Strict


class Recovery(Strict):
    """`[recovery]`: watch the loaded server until it idles, then probe until it is fast again."""

    idle_cpus: float = Field(default=0.05, gt=0)  # CPUs in use; at or below it a server idles
    watch_s: float = Field(default=60, gt=0)  # the longest watch after one trial
    probe_s: float = Field(default=1, gt=0)  # of one probing load
    rate_share: float = Field(default=0.9, gt=0, le=1)  # of the first trial's rate: recovered
    limit_s: float = Field(default=120, gt=0)  # since the trial; past it the series ends
