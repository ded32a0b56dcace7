"""The only access to processes, the clock and the network: the `Host` interface."""

from deadheat.host.base import (
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
