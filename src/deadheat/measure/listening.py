"""Who listens on the port of an instance: its own processes, or a server that is not ours."""

from dataclasses import dataclass
from typing import Literal

from deadheat.host import Listener, Listeners
from deadheat.measure.contender import LOOPBACK

ANY = ("0.0.0.0", "::", "::ffff:0.0.0.0")
START_ITSELF = (
    "give a command that runs the server itself in the foreground, or start the server yourself "
    "and give its address: --url http://127.0.0.1:PORT/"
)


@dataclass(frozen=True, slots=True)
class WrongListener:
    """Why the answers on a port are not those of an instance, and the hint."""

    reason: str
    hint: str


def wrong_listener(listeners: Listeners, port: int, host: str = LOOPBACK) -> WrongListener | None:
    """What is wrong with an instance that seems to answer; None if nothing, or if unknown."""
    own = [each for each in listeners.own if _reaches(each, port, host)]
    others = [each for each in listeners.others if _reaches(each, port, host)]
    named = ", ".join(sorted({each.process for each in others if each.process is not None}))
    if own and named:
        return WrongListener(
            f"shared port: {named} listens on port {port} too and would get some of the requests",
            f"end {named}, or run the server without SO_REUSEPORT",
        )
    if own or not listeners.complete or (others and not named):
        return None
    if named:
        reason = (
            f"another process answers: {named} listens on port {port}, and no process that this "
            "command started does (`docker run -p` listens like this)"
        )
    else:
        reason = (
            f"another server answers: no process of this machine listens on port {port} (a "
            "container or a firewall rule redirects it)"
        )
    return WrongListener(reason, START_ITSELF)


def is_known(listeners: Listeners, port: int, host: str = LOOPBACK) -> bool:
    """Whether this machine shows that the instance itself listens on its port."""
    return any(_reaches(each, port, host) for each in listeners.own)


@dataclass(frozen=True, slots=True)
class BacklogReading:
    """The backlogs of an instance's sockets on its port, and what its manifest says."""

    seen: tuple[int, ...]
    expected: int | None

    @property
    def agrees(self) -> bool | None:
        """None if this machine does not show it."""
        if not self.seen or self.expected is None:
            return None
        return {*self.seen} == {self.expected}

    def __str__(self) -> str:
        seen = " and ".join(f"{each:,}" for each in sorted({*self.seen}))
        if self.agrees is None:
            return "this machine does not show backlogs"
        if self.agrees:
            return f"it listens with a backlog of {seen}"
        return f"it listens with a backlog of {seen}; server.toml says {self.expected:,}"


def backlog_reading(
    listeners: Listeners, port: int, host: str, declared: int | Literal["system"]
) -> BacklogReading:
    """`declared` is `start.backlog`, which the kernel lowers to somaxconn."""
    reached = [each for each in listeners.own if _reaches(each, port, host)]
    seen = tuple(each.backlog for each in reached if each.backlog is not None)
    most = listeners.backlog_max
    if declared == "system" or most is None:
        return BacklogReading(seen, most)
    return BacklogReading(seen, min(declared, most))


def missed_port(listeners: Listeners, port: int, host: str = LOOPBACK) -> WrongListener | None:
    """Why an instance refuses connections on its port; None if its sockets do not show it."""
    here = [each for each in listeners.own if each.port == port]
    places = ", ".join(sorted({str(each) for each in here or listeners.own}))
    reached = (host, f"::ffff:{host}", "0.0.0.0", "::ffff:0.0.0.0")
    if not places or any(each.address in reached for each in here):
        return None
    if here:
        return WrongListener(
            f"it listens on {places} only, and deadheat connects to {host}",
            f"let it listen on {host} or 0.0.0.0"
            + ("" if host == LOOPBACK else ": {host} in the command stands for it"),
        )
    return WrongListener(
        f"it listens on {places}, not on port {port}",
        "pass it the port: {port} in the command or in env stands for it",
    )


def _reaches(listener: Listener, port: int, host: str) -> bool:
    return listener.port == port and listener.address in (host, f"::ffff:{host}", *ANY)
