"""The local machine as a host."""

import sys
from pathlib import Path

from deadheat.host import Limits
from deadheat.host.agent_host import AgentHost

AGENT_PATH = Path(__file__).with_name("agent")


class LocalHost(AgentHost):
    """The local machine through an agent on a pipe.

    `containment` is `cgroup-v2`, `pid-namespace` or `subreaper`; by default the agent takes the
    first of these that works. Raises `HostError` if none works. `limits`: see `AgentHost`.
    `isolate` puts everything that the agent does into a network namespace with only loopback.
    """

    def __init__(
        self, containment: str | None = None, limits: Limits | None = None, isolate: bool = False
    ) -> None:
        forced = ["--containment", containment] if containment else []
        forced += ["--isolate"] if isolate else []
        super().__init__([sys.executable, "-I", "-S", str(AGENT_PATH), *forced], limits)
