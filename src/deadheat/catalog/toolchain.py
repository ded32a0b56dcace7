"""Whether this machine has what a server needs, asked of the machine and never assumed."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from deadheat.catalog.manifest import Need
from deadheat.catalog.server import Server
from deadheat.host import Host, HostError, ProcessSpec

PROBE_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Probe:
    """One need and what the machine answered: `fault` is None where it is met."""

    need: Need
    version: str | None
    fault: str | None


class Toolchains:
    """Probes needs, each at most once."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._probed: dict[tuple[str, ...], str | None] = {}

    def check(self, server: Server) -> list[Probe]:
        """A probe for every need of the server, met or not."""
        return [self._check(need) for need in server.needs]

    def _check(self, need: Need) -> Probe:
        answer = self._answer(need.probe)
        if answer is None:
            return Probe(need, None, f"{need.tool} is not installed")
        found = re.search(need.pattern, answer)
        if found is None:
            return Probe(need, None, f"{need.tool} does not tell its version")
        version = found.group(1)
        if need.minimum is not None and version_key(version) < version_key(need.minimum):
            return Probe(need, version, f"{need.tool} {version} is older than {need.minimum}")
        if need.below is not None and version_key(version) >= version_key(need.below):
            return Probe(need, version, f"{need.tool} {version} is not below {need.below}")
        return Probe(need, version, None)

    def _answer(self, command: tuple[str, ...]) -> str | None:
        if command not in self._probed:
            try:
                done = self._host.run(ProcessSpec(command), PROBE_TIMEOUT_S)
                self._probed[command] = done.stdout + done.stderr if done.exit_code == 0 else None
            except HostError:
                self._probed[command] = None
        return self._probed[command]


def missing(probes: Iterable[Probe]) -> list[Probe]:
    """Those that are not met."""
    return [probe for probe in probes if probe.fault is not None]


def version_key(version: str) -> tuple[int, ...]:
    """`1.26.8` -> (1, 26, 8), `1.22rc1` and `1.22.0` -> (1, 22): the numbers it begins with."""
    beginning = re.split(r"[^\d.]", version, maxsplit=1)[0]
    numbers = [int(part) for part in re.findall(r"\d+", beginning)]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
