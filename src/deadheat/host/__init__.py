"""Everything that starts, watches, freezes or kills a process goes through a `Host`."""

from deadheat.host.base import (
    Completed,
    Exchange,
    Exited,
    Host,
    HostError,
    ProcessSpec,
    Sample,
    Usage,
)

__all__ = ["Completed", "Exchange", "Exited", "Host", "HostError", "ProcessSpec", "Sample", "Usage"]
