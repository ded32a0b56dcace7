"""The only access to processes, the clock and the network: the `Host` interface."""

from deadheat.host.base import (
    ENDS_ONLY_S,
    Completed,
    Exchange,
    Exited,
    Host,
    HostError,
    Limits,
    Listener,
    Listeners,
    ProcessSpec,
    Sample,
    Usage,
)

__all__ = [
    "ENDS_ONLY_S",
    "Completed",
    "Exchange",
    "Exited",
    "Host",
    "HostError",
    "Limits",
    "Listener",
    "Listeners",
    "ProcessSpec",
    "Sample",
    "Usage",
]
