"""Preparing contenders: what the machine lacks is told, what can be built is built."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from deadheat.build.builder import Builder, BuildFailed, Built
from deadheat.catalog import Probe, Selection, Toolchains, fill, missing
from deadheat.events import Event, Listener, Progress
from deadheat.host import Host, HostError, ProcessSpec

VERSION_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A contender with its build, or with the reason why there is none."""

    selection: Selection
    built: Built | None
    version: str | None
    fault: str | None
    lacks: tuple[str, ...] = ()  # the commands that would install what this machine is missing


def prepare(
    selections: Sequence[Selection], host: Host, builder: Builder, listen: Listener
) -> list[Candidate]:
    """Build what is not built yet; a contender that cannot be built is told and left out."""
    toolchains = Toolchains(host)
    candidates: list[Candidate] = []
    failed: dict[str, Candidate] = {}
    for position, selection in enumerate(selections):
        server = selection.server
        listen(Progress(f"building {server.name}", position, len(selections)))
        if server.name in failed:
            candidates.append(replace(failed[server.name], selection=selection))
            continue
        try:
            probes = toolchains.check(server)
            if lacking := missing(probes):
                raise _Lacking(server.name, lacking)
            built = builder.build(server, probes)
        except BuildFailed as error:
            lacks = error.installs if isinstance(error, _Lacking) else ()
            failed[server.name] = Candidate(selection, None, None, str(error), lacks)
            listen(Event(f"{error}\n  {error.hint}" if error.hint else str(error), trouble=True))
            candidates.append(failed[server.name])
            continue
        if not built.cached:
            listen(Event(f"built {server.name} in {built.elapsed_s:.0f} s"))
        candidates.append(Candidate(selection, built, ask_version(host, built), None))
    return candidates


def ask_version(host: Host, built: Built) -> str | None:
    """The framework's version, as the built server tells it; None if it does not."""
    version = built.server.manifest.version
    command = fill(version.command, {"build": str(built.path)})
    try:
        told = host.run(ProcessSpec(command, cwd=str(built.path)), VERSION_TIMEOUT_S)
    except HostError:
        return None
    found = re.search(version.pattern, told.stdout + told.stderr)
    return found.group(1) if found and told.exit_code == 0 else None


class _Lacking(BuildFailed):
    """The machine lacks tools; `installs` are the commands that get them."""

    def __init__(self, name: str, lacking: Sequence[Probe]) -> None:
        self.installs = tuple(dict.fromkeys(probe.need.install for probe in lacking))
        faults = "; ".join(probe.fault or "" for probe in lacking)
        super().__init__(
            f"{name} is left out: {faults}", "install it: " + " && ".join(self.installs)
        )
