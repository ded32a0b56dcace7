"""`Level`: a workload and a number of connections, at which contenders are compared."""

from dataclasses import dataclass

HELLO = "hello"


@dataclass(frozen=True, slots=True, order=True)
class Level:
    """Levels order by workload, then by connections."""

    workload: str
    connections: int

    def __str__(self) -> str:
        """`100 connections`; with a workload that is not the default, `route, 100 connections`."""
        noun = "connection" if self.connections == 1 else "connections"
        return f"{self._prefix}{self.connections:,} {noun}"

    @property
    def short(self) -> str:
        """`100`, or `route, 100`."""
        return f"{self._prefix}{self.connections}"

    @property
    def _prefix(self) -> str:
        return "" if self.workload == HELLO else f"{self.workload}, "
