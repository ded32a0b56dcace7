"""Another machine as a host, over OpenSSH."""

import re
import subprocess
from functools import cached_property

from deadheat.errors import LinkLost
from deadheat.host.agent_host import AgentHost
from deadheat.host.base import HostError, Limits
from deadheat.host.bootstrap import first_command, preamble
from deadheat.host.far_files import FarFiles
from deadheat.host.fingerprint import FarHost, Fingerprint, LinkSpeed
from deadheat.host.ssh_errors import connection_error

SSH = "ssh"
HEARTBEAT_S = 2.0
SILENCE_S = 10.0  # the far agent ends its trees if it hears nothing for this long
CONNECT_S = 15
ALIVE_S, ALIVE_LOST_MAX = 3, 3  # ssh gives up a silent connection after about 9 s
OPTIONS = {
    "BatchMode": "yes",  # fail instead of asking
    "StrictHostKeyChecking": "yes",
    "ConnectTimeout": str(CONNECT_S),
    "ServerAliveInterval": str(ALIVE_S),
    "ServerAliveCountMax": str(ALIVE_LOST_MAX),
    "ForwardAgent": "no",
    "ForwardX11": "no",
}
TARGET = re.compile(r"(?:[^@\s-][^@\s]*@)?[^@\s-][^@\s]*")


class SshHost(AgentHost, FarFiles):
    """Another machine through an agent at the other end of a connection of ssh.

    `target` is `[user@]host` as ssh takes it, also a Host of ~/.ssh/config. Raises `HostError`,
    with the cause, if the connection does not come about or the agent cannot work there. If the
    connection is cut or this process dies, the far agent ends what it started, within
    `SILENCE_S`, and every request raises `LinkLost`. `isolate`: see `LocalHost`.
    """

    def __init__(self, target: str, limits: Limits | None = None, isolate: bool = False) -> None:
        if not TARGET.fullmatch(target):
            raise HostError(f"{target!r}: expected [user@]host", "such as lab@192.168.10.10")
        self.target = target
        self.network: LinkSpeed | None = None  # to the other host, once it was measured
        self.same_machine = False  # as another host of the run, in another namespace or container
        arguments = ["--silence", f"{SILENCE_S:g}", *(["--isolate"] if isolate else [])]
        super().__init__(
            ssh_command(target), limits, preamble=preamble(arguments), heartbeat_s=HEARTBEAT_S
        )

    def fingerprint(self) -> Fingerprint:
        """As for any host, with the time of a request to the agent, and `network` if known."""
        link = FarHost(
            agent_round_trip_us=self._round_trip_us,
            network=self.network,
            same_machine=self.same_machine,
        )
        return super().fingerprint().model_copy(update={"link": link})

    @cached_property
    def _round_trip_us(self) -> float:
        return round(self.round_trip_s() * 1e6, 1)

    def _gone(self) -> HostError | LinkLost:
        stderr = "".join(self._stderr_lines).strip()
        if self._greeting.done() and self._greeting.exception() is None:
            return LinkLost(self.target, stderr.splitlines()[-1] if stderr else "")
        return connection_error(self.target, self._agent.poll(), stderr)


def ssh_command(target: str) -> list[str]:
    """The command that starts an agent there."""
    options = [word for name, value in OPTIONS.items() for word in ("-o", f"{name}={value}")]
    return [SSH, "-T", *options, "--", target, first_command()]


def host_name(target: str) -> str:
    """The name or address that ssh connects to, after ~/.ssh/config. Raises `HostError`."""
    command = [SSH, "-G", "--", target]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CONNECT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"cannot run {SSH}: {error}", "install OpenSSH's client") from error
    for line in done.stdout.splitlines():
        if line.startswith("hostname "):
            return line.split(maxsplit=1)[1]
    raise HostError(f"{target}: ssh does not say its host name", done.stderr.strip() or None)
