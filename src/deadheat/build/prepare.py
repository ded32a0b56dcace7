"""Prepares contenders: builds their servers and reports missing tools."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from deadheat.build.builder import Builder, BuildFailed, Built
from deadheat.catalog import Probe, Selection, Toolchains, missing
from deadheat.catalog.manifest import Runtime, Version
from deadheat.events import Event, Listener, Progress
from deadheat.host import Host, HostError

VERSION_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A contender with its build, or with the fault that prevented it."""

    selection: Selection
    built: Built | None
    version: str | None
    fault: str | None
    lacks: tuple[str, ...] = ()  # the commands that install the missing tools


def prepare(
    selections: Sequence[Selection], host: Host, builder: Builder, listen: Listener
) -> list[Candidate]:
    """Build each server. Reports and leaves out a contender that cannot be built."""
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
            probes = builder.probes(toolchains, server)
            if lacking := missing(probes):
                raise _ToolsMissing(server.name, lacking, builder.place)
            built = builder.build(server, probes)
        except BuildFailed as error:
            lacks = error.installs if isinstance(error, _ToolsMissing) else ()
            failed[server.name] = Candidate(selection, None, None, str(error), lacks)
            hint = f"\n  hint: {error.hint}" if error.hint else ""
            listen(Event(f"{error}{hint}", trouble=True))
            candidates.append(failed[server.name])
            continue
        if not built.cached:
            listen(Event(f"built {server.name} in {built.elapsed_s:.0f} s"))
        candidates.append(Candidate(selection, built, ask_version(host, built), None))
    return candidates


def ask_version(host: Host, built: Built) -> str | None:
    """The framework's version according to the built server; None if unknown.

    A recipe's runtime adds its version: `12.1.14 on JDK 25.0.2`; an image, `in podman`.
    """
    version = _version(host, built)
    if version is None or built.image is None:
        return version
    return f"{version} in {built.image.tool.program}"


def _version(host: Host, built: Built) -> str | None:
    version = _reading(host, built, built.server.manifest.version)
    runtime = built.server.runtime
    if version is None or runtime is None:
        return version
    runtime_version = _reading(host, built, runtime) or "unknown"
    if runtime_version == version:  # the runtime's own server
        return version
    return f"{version} on {runtime.name} {runtime_version}"


def _reading(host: Host, built: Built, source: Version | Runtime) -> str | None:
    try:
        completed = host.run(built.process(source.command), VERSION_TIMEOUT_S)
    except HostError:
        return None
    match = re.search(source.pattern, completed.stdout + completed.stderr)
    return match.group(1) if match and completed.exit_code == 0 else None


class _ToolsMissing(BuildFailed):
    """Tools are missing; `installs` are the commands that install them."""

    def __init__(self, name: str, lacking: Sequence[Probe], place: str) -> None:
        self.installs = tuple(dict.fromkeys(probe.need.install for probe in lacking))
        faults = "; ".join(probe.fault or "" for probe in lacking)
        super().__init__(
            f"{name} is left out: {faults}{place}",
            f"install it{place}: {' && '.join(self.installs)}",
        )
