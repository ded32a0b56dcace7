"""Builds a server in a fresh copy of its folder, and keeps the build by the hash of its inputs."""

import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from deadheat.build.image import FOLDER, Image
from deadheat.catalog import Server, Toolchains, fill, fill_env
from deadheat.catalog.server import IGNORED, content_key, copy_folder, hash_files
from deadheat.catalog.toolchain import Probe
from deadheat.errors import DeadheatError
from deadheat.home import write_whole
from deadheat.host import Completed, Host, HostError, ProcessSpec

if TYPE_CHECKING:  # `deadheat list` finds builds without any host
    from deadheat.host.ssh import SshHost

LOG_LINES_SHOWN = 15
LOOK_S = 10.0


class BuildFailed(DeadheatError):
    """A step failed or exceeded its time limit; the log has its whole output."""


@dataclass(frozen=True, slots=True)
class Built:
    """A finished build: its folder, its inputs and its log. An image has a copy of the folder."""

    server: Server
    key: str
    path: Path
    log: str
    elapsed_s: float
    toolchains: Mapping[str, str]
    files: Mapping[str, str]  # file -> SHA-256
    cached: bool
    image: Image | None = None  # None: it runs natively

    @property
    def folder(self) -> str:
        """What {build} is for its commands."""
        return FOLDER if self.image else str(self.path)

    def process(self, command: Sequence[str]) -> ProcessSpec:
        """A command of this build that ends by itself."""
        filled = fill(tuple(command), {"build": self.folder})
        if self.image is not None:
            return ProcessSpec(self.image.tool.once(self.image.name, filled))
        return ProcessSpec(filled, cwd=str(self.path))


class Builder:
    """Builds servers in `builds/NAME/KEY/`. A finished build is reused."""

    place = ""  # in messages: ` on HOST`, of another machine

    def __init__(self, host: Host, folder: Path, step_s: float | None = None) -> None:
        """`step_s` is the time limit of each step, instead of the manifest's."""
        self._host = host
        self._step_s = step_s
        self._folder = folder

    def probes(self, toolchains: Toolchains, server: Server) -> list[Probe]:
        """The tools that the server needs, each with its version if it is here."""
        return toolchains.check(server)

    def find(self, server: Server, probes: list[Probe]) -> Built | None:
        """The finished build of exactly this folder, recipe and toolchain; None without one."""
        return find_build(self._folder, server, probes)

    def build(self, server: Server, probes: list[Probe]) -> Built:
        """Find the build, or make it. Raises `BuildFailed` with the last lines of its log."""
        if (finished := self.find(server, probes)) is not None:
            return finished
        planned = _planned(self._folder, server, probes)
        path = planned.path
        try:
            with self._locked(path.with_suffix(".lock")):
                if (finished := self.find(server, probes)) is not None:
                    return finished  # another deadheat process made it meanwhile
                return self._make(planned)
        except OSError as error:
            raise BuildFailed(
                f"{server.name}: cannot build in {path}: {error}",
                "free space there, or set DEADHEAT_HOME to another folder",
            ) from error

    def _make(self, planned: Built) -> Built:
        path = planned.path
        self._copy(planned.server, path)
        begun_s = self._host.now_s()
        log = self._run_steps(planned.server, path, path.with_suffix(".log"))
        elapsed_s = self._host.now_s() - begun_s
        record = json.dumps({"log": log, "elapsed_s": elapsed_s})
        self._write(path.with_suffix(".json"), record)  # marks the build as finished
        return replace(planned, log=log, elapsed_s=elapsed_s)

    def _run_steps(self, server: Server, path: Path, log_path: Path) -> str:
        log = ""
        limit_s = self._step_s or server.build_timeout_s
        env = fill_env(server.build_env, {"build": str(path)})
        for step in server.steps:
            command = fill(step, {"build": str(path)})
            log += f"$ {' '.join(command)}\n"
            try:
                spec = ProcessSpec(command, cwd=str(path), env=env, limited=True)
                done = self._host.run(spec, limit_s)
            except HostError as error:
                self._write(log_path, log + str(error))
                raise BuildFailed(f"{server.name}: build step cannot run: {error}") from error
            log += done.stdout + done.stderr
            self._write(log_path, log)
            if done.exit_code != 0:
                outcome = _outcome(done, limit_s)
                raise BuildFailed(
                    f"{server.name}: build step `{' '.join(step)}` {outcome}\n{tail(log)}",
                    f"the complete log is in {log_path}",
                )
        return log

    def _locked(self, lock: Path) -> AbstractContextManager[None]:
        return locked(lock)

    def _copy(self, server: Server, path: Path) -> None:
        """A fresh copy of the server's folder."""
        shutil.rmtree(path, ignore_errors=True)
        copy_folder(server.folder, path)

    def _write(self, path: Path, text: str) -> None:
        write_whole(path, text)


def find_build(builds: Path, server: Server, probes: list[Probe]) -> Built | None:
    """The finished build in the folder `builds`; see `Builder.find`."""
    if not (builds / server.name).is_dir():
        return None
    planned = _planned(builds, server, probes)
    done = planned.path.with_suffix(".json")
    if not (done.is_file() and planned.path.is_dir()):
        return None
    return _finished(planned, done.read_text(encoding="utf-8"))


def _planned(builds: Path, server: Server, probes: list[Probe]) -> Built:
    """What a build of exactly this folder, recipe and toolchain will be."""
    files = hash_files(server.folder)
    toolchains = {probe.need.tool: probe.version for probe in probes if probe.version is not None}
    key = content_key(server, files, toolchains=toolchains)  # how it starts is no input
    return Built(server, key, builds / server.name / key, "", 0.0, toolchains, files, cached=False)


def _finished(planned: Built, record: str) -> Built:
    values = json.loads(record)
    return replace(planned, log=values["log"], elapsed_s=values["elapsed_s"], cached=True)


def tail(text: str, lines: int = LOG_LINES_SHOWN) -> str:
    """The last lines of an output, as errors show them."""
    return "\n".join(f"  | {line}" for line in text.splitlines()[-lines:])


def _outcome(done: Completed, limit_s: float) -> str:
    if done.limit is not None:
        return f"was stopped: {done.limit}"
    if done.exit_code is None:
        return f"was stopped after {limit_s:.0f} s"
    return f"ended with {done.exit_code}"


@contextmanager
def locked(lock: Path) -> Iterator[None]:
    """Hold the lock of a build: another process that needs the same build waits for it."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class FarBuilder(Builder):
    """Builds in `~/.cache/deadheat/builds/NAME/KEY/` there, with the toolchains there."""

    def __init__(self, host: "SshHost", step_s: float | None = None) -> None:
        """`step_s`: see `Builder`."""
        super().__init__(host, Path(host.cache_folder() / "builds"), step_s)
        self._far = host
        self.place = f" on {host.target}"

    def find(self, server: Server, probes: list[Probe]) -> Built | None:
        planned = _planned(self._folder, server, probes)
        record = self._far.read_file(PurePosixPath(planned.path.with_suffix(".json")))
        if record is None:
            return None
        look = ProcessSpec(["test", "-d", str(planned.path)])
        if self._far.run(look, LOOK_S).exit_code != 0:
            return None
        return _finished(planned, record)

    def _locked(self, lock: Path) -> AbstractContextManager[None]:
        return self._far.locked(PurePosixPath(lock))

    def _copy(self, server: Server, path: Path) -> None:
        try:
            self._far.send_folder(server.folder, PurePosixPath(path), IGNORED)
        except HostError as error:
            raise BuildFailed(
                f"{server.name}: cannot be sent to {self._far.target}: {error}", error.hint
            ) from error

    def _write(self, path: Path, text: str) -> None:
        self._far.write_file(PurePosixPath(path), text)
