"""The hosts of a run: this machine, or others over ssh."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

from deadheat.errors import DeadheatError
from deadheat.host import Limits
from deadheat.host.agent_host import AgentHost
from deadheat.host.local import LocalHost
from deadheat.host.ssh import SshHost, host_name

HERE = "."  # this machine, as --load-host


@dataclass(frozen=True, slots=True)
class Hosts:
    """The machines that the command line names; None is this one."""

    server: str | None = None
    load: str | None = None
    address: str | None = None  # of the server host, as the load host sees it
    more_loads: tuple[str | None, ...] = ()

    @property
    def loads(self) -> tuple[str | None, ...]:
        """All machines that send load."""
        return (self.load, *self.more_loads)

    def __bool__(self) -> bool:
        """Whether any of them is another machine."""
        return bool(self.server or any(self.loads))

    @property
    def far(self) -> list[str]:
        """The other machines, as ssh reaches them."""
        return [target for target in (self.server, *self.loads) if target is not None]

    def require_sense(self, isolate: bool = False) -> None:
        """Raises `DeadheatError` for options that exclude each other."""
        if isolate and self:
            raise DeadheatError(
                "--isolate: an isolated network does not reach another machine",
                "omit it, or omit --server-host and --load-host",
            )
        if self.server is not None and self.server in self.loads:
            raise DeadheatError(
                f"--server-host and --load-host are both {self.server}: expected two machines",
                "run deadheat there, or name another machine",
            )
        names = [name or HERE for name in self.loads]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise DeadheatError(
                f"--load-host {repeated[0]} is given twice: expected different machines",
                "for more threads on one machine: --load-threads",
            )
        if self.more_loads and None in self.loads and self.server is None:
            raise DeadheatError(
                f"--load-host {HERE}: the servers run on this machine, and need its CPUs",
                "name other machines only, or --server-host too",
            )
        if self.address is not None and not self:
            raise DeadheatError(
                "--server-address: expected --server-host or --load-host",
                "on one machine, servers listen on 127.0.0.1",
            )

    def server_address(self, load_host: AgentHost) -> str:
        """The IPv4 address at which servers listen. Raises `DeadheatError` if it is unknown."""
        try:
            if self.address is not None:
                return load_host.resolve(self.address)
            if self.server is not None:
                return load_host.resolve(host_name(self.server))
            address = load_host.peer_address()
        except DeadheatError as error:
            raise DeadheatError(
                f"the address of the server host is unknown: {error}",
                "give it as the load host sees it: --server-address ADDRESS",
            ) from error
        if address is None or ":" in address:
            raise DeadheatError(
                f"the address of this machine as {self.load} sees it is {address or 'unknown'}: "
                "expected an IPv4 address",
                "give it: --server-address ADDRESS",
            )
        return address


@contextmanager
def host_of(
    target: str | None, limits: Limits | None = None, isolate: bool = False
) -> Iterator[LocalHost | SshHost]:
    """This machine, or the one that ssh reaches as `target`, until the context ends."""
    if target is None:
        with LocalHost(limits=limits, isolate=isolate) as local:
            yield local
        return
    with SshHost(target, limits, isolate) as far:
        yield far


def host_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The flags that name other machines; the command gets them as `hosts`."""
    address = click.option(
        "--server-address",
        metavar="ADDRESS",
        help="Address of the server host as the load host sees it.  "
        "[default: the host that ssh connects to]",
    )
    return machine_options(address(command))


def machine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """As `host_options`, for a command that sends no load."""

    @functools.wraps(command)
    def with_hosts(*args: Any, **options: Any) -> Any:
        server, address = (options.pop(name, None) for name in ("server_host", "server_address"))
        named = options.pop("load_host", None) or (HERE,)
        load, *more = (None if name == HERE else name for name in named)
        hosts = Hosts(server, load, address, tuple(more))
        hosts.require_sense(isolate=options.get("isolate", False))
        return command(*args, hosts=hosts, **options)

    flags = (
        click.option(
            "--server-host",
            metavar="[USER@]HOST",
            help="Machine that builds and starts servers, over ssh.",
        ),
        click.option(
            "--load-host",
            metavar="[USER@]HOST",
            multiple=True,
            help="Machine that sends the load, over ssh; . is this one. Repeat it to send load "
            "from several.",
        ),
    )
    for flag in reversed(flags):
        with_hosts = flag(with_hosts)
    return with_hosts
