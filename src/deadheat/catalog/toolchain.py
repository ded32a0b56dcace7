"""The tools that a server needs: probes them on this machine, and installs those missing.

`ProbeCache` keeps the outcomes for a while, so that `deadheat list` answers quickly. A tool that
was just installed is found at the next call: a failure is kept only while nothing was installed, as
far as folders and files show. Builds and runs do not use the cache.
"""

import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from deadheat.catalog.manifest import Need
from deadheat.catalog.server import Server
from deadheat.foreign_text import escaped
from deadheat.home import write_whole
from deadheat.host import Completed, Host, HostError, ProcessSpec
from deadheat.host.batch import run_batch
from deadheat.output import echo

KEPT_S = 3600.0
FAILURE_KEPT_S = 600.0
PACKAGE_DATABASES = ("/var/lib/dpkg/status", "/var/lib/rpm", "/lib/apk/db/installed")

Entry = tuple[float, str | None, str]  # when, the output or None for a failure, the state
PROBE_TIMEOUT_S = 30.0
PROBES_AT_ONCE = 4
INSTALL_TIMEOUT_S = 1800.0
UPDATE = "apt-get update"


class ProbeCache:
    """Outcomes by command, program and search path, in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._now_s = time.time()
        self._entries = _read(path, self._now_s)
        self._changed = False

    def get(self, command: tuple[str, ...]) -> str | None:
        """What the command printed, unless that is too old or its program has changed."""
        entry = self._entry(command)
        return entry[1] if entry is not None else None

    def failed(self, command: tuple[str, ...]) -> bool:
        """Whether the program does not exist, or failed lately and nothing was installed since."""
        if _key(command) is None:
            return True
        entry = self._entry(command)
        return entry is not None and entry[1] is None and entry[2] == self._state

    def put(self, command: tuple[str, ...], output: str | None) -> None:
        """Keep what the command printed; None for a failure."""
        key = _key(command)
        if key is not None:
            self._entries[key] = (self._now_s, output, "" if output is not None else self._state)
            self._changed = True

    def drop(self, command: tuple[str, ...]) -> None:
        """Forget an outcome."""
        if (key := _key(command)) in self._entries:
            del self._entries[str(key)]
            self._changed = True

    def save(self) -> None:
        """Write the file. A folder that cannot be written only costs time at the next call."""
        if not self._changed:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, json.dumps(self._entries))
        except OSError:
            return

    def _entry(self, command: tuple[str, ...]) -> Entry | None:
        key = _key(command)
        return self._entries.get(key) if key is not None else None

    @cached_property
    def _state(self) -> str:
        """What an installation changes: folders of programs, package databases, ~/.rustup etc."""
        return json.dumps([(str(place), _changed_ns(place)) for place in _places()])


def _places() -> Iterator[Path]:
    yield from (Path(folder) for folder in os.get_exec_path() if folder)
    yield from map(Path, PACKAGE_DATABASES)
    home = Path.home()
    for pattern in (".*", "quicklisp"):
        yield from (path for path in sorted(home.glob(pattern)) if path.is_dir())


def _changed_ns(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def _read(path: Path, now_s: float) -> dict[str, Entry]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        entries = {
            str(key): (float(at_s), None if output is None else str(output), str(state))
            for key, (at_s, output, state) in rows.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
    return {
        key: entry
        for key, entry in entries.items()
        if 0 <= now_s - entry[0] < (KEPT_S if entry[1] is not None else FAILURE_KEPT_S)
    }


def _key(command: tuple[str, ...]) -> str | None:
    """None for a program that does not exist."""
    program = shutil.which(command[0])
    if program is None:
        return None
    status = Path(program).resolve().stat()
    search = (os.environ.get("PATH"), os.environ.get("JAVA_HOME"))
    return json.dumps([command, program, status.st_mtime_ns, status.st_size, search])


@dataclass(frozen=True, slots=True)
class Probe:
    """One need and its version on this machine. `fault` is None if the need is met."""

    need: Need
    version: str | None
    fault: str | None


class Toolchains:
    """Probes needs; each command runs at most once, or not at all if `cache` has its outcome.

    Without a host, the cache must have all of them.
    """

    def __init__(self, host: Host | None, cache: ProbeCache | None = None) -> None:
        self._host = host
        self._cache = cache
        self._probed: dict[tuple[str, ...], str | None] = {}

    def check(self, server: Server) -> list[Probe]:
        """A probe for every need of the server, met or not."""
        return [self._check(need) for need in server.needs]

    def probe_all(self, servers: Iterable[Server]) -> None:
        """Run every command that these servers need and whose outcome is not known, together."""
        needed = {need.probe: None for server in servers for need in server.needs}
        commands = [command for command in needed if not self._is_known(command)]
        if self._host is None or not commands:
            return
        try:
            outputs = run_batch(self._host, commands, PROBE_TIMEOUT_S)
        except HostError:  # one of them may have held up the others
            with ThreadPoolExecutor(PROBES_AT_ONCE) as pool:
                list(pool.map(self._output, commands))
            return
        for command, output in zip(commands, outputs, strict=True):
            self._note(command, output)

    def _check(self, need: Need) -> Probe:
        output = self._output(need.probe)
        if output is None:
            are = "are" if need.tool.endswith("headers") else "is"
            return Probe(need, None, f"{need.tool} {are} not installed")
        match = re.search(need.pattern, output)
        if match is None:
            if self._cache is not None:
                self._cache.drop(need.probe)
            return Probe(need, None, f"{need.tool} printed no version")
        version = match.group(1)
        tool = f"{need.tool} {version}"
        if need.minimum is not None and version_key(version) < version_key(need.minimum):
            return Probe(need, version, f"{tool} is too old: expected at least {need.minimum}")
        if need.below is not None and version_key(version) >= version_key(need.below):
            return Probe(need, version, f"{tool} is too new: expected below {need.below}")
        return Probe(need, version, None)

    def _output(self, command: tuple[str, ...]) -> str | None:
        if not self._is_known(command) and self._host is not None:
            try:
                done = self._host.run(ProcessSpec(command), PROBE_TIMEOUT_S)
                self._note(command, done.stdout + done.stderr if done.exit_code == 0 else None)
            except HostError:
                self._note(command, None)
        return self._probed.get(command)

    def _is_known(self, command: tuple[str, ...]) -> bool:
        """Whether its outcome is known, perhaps from the cache."""
        if command not in self._probed and self._cache is not None:
            cached = self._cache.get(command)
            if cached is not None or self._cache.failed(command):
                self._probed[command] = cached
        return command in self._probed

    def _note(self, command: tuple[str, ...], output: str | None) -> None:
        self._probed[command] = output
        if self._cache is not None:
            self._cache.put(command, output)


def unknown_probes(servers: Iterable[Server], cache: ProbeCache) -> bool:
    """Whether any need of these servers has to be probed: the cache lacks its outcome."""
    commands = {need.probe for server in servers for need in server.needs}
    return any(cache.get(command) is None and not cache.failed(command) for command in commands)


def missing(probes: Iterable[Probe]) -> list[Probe]:
    """The needs that are not met."""
    return [probe for probe in probes if probe.fault is not None]


def version_key(version: str) -> tuple[int, ...]:
    """The leading numbers: `1.26.8` -> (1, 26, 8), `1.22rc1` and `1.22.0` -> (1, 22)."""
    prefix = re.split(r"[^\d.]", version, maxsplit=1)[0]
    numbers = [int(part[:18]) for part in re.findall(r"\d+", prefix)]  # foreign: any length
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def install_missing(host: Host, servers: Sequence[Server]) -> None:
    """Print and run the install command of each missing need, each command once.

    The first is `apt-get update`, if one of them uses apt-get: without it, a fresh system knows no
    packages. A command that fails is reported with its last lines of output, and the others still
    run: only the servers that need its tool cannot be built.
    """
    toolchains = Toolchains(host)
    commands = dict.fromkeys(
        probe.need.install for server in servers for probe in missing(toolchains.check(server))
    )
    update_failed = needs_update(commands) and _run(host, UPDATE).exit_code != 0
    failures = [
        (command, completed)
        for command in commands
        if (completed := _run(host, command)).exit_code != 0
    ]
    if failures and update_failed:  # one broken source fails it, and most packages still install
        echo(f"`{UPDATE}` failed", fg="yellow", err=True)
    for command, completed in failures:
        ended = f"not installed: `{escaped(command)}` ended with exit code {completed.exit_code}"
        echo(ended, fg="yellow", err=True)
        for line in (completed.stdout + completed.stderr).splitlines()[-10:]:
            echo(f"  {escaped(line)}", err=True)
    if failures and os.geteuid() != 0:
        echo("install commands need root: run them with sudo", err=True)


def needs_update(commands: Iterable[str]) -> bool:
    """Whether one of the commands installs Debian packages."""
    return any("apt-get install" in command for command in commands)


def _run(host: Host, command: str) -> Completed:
    echo(f"installing: {escaped(command)}", err=True)
    return host.run(ProcessSpec(["sh", "-c", command]), INSTALL_TIMEOUT_S)
