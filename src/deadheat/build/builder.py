"""Building a server: steps in a fresh copy of its folder, kept by the hash of what went in."""

import fcntl
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deadheat.catalog import Server, fill, fill_env
from deadheat.catalog.toolchain import Probe
from deadheat.errors import DeadheatError
from deadheat.host import Host, HostError, ProcessSpec

IGNORED = ("node_modules", "target", "__pycache__", ".venv")
LOG_LINES_SHOWN = 15


class BuildFailed(DeadheatError):
    """A step failed or ran out of time; the log has the rest."""


@dataclass(frozen=True, slots=True)
class Built:
    """A server that can be started: where, from what, and how that came about."""

    server: Server
    key: str
    path: Path
    log: str
    elapsed_s: float
    toolchains: Mapping[str, str]
    files: Mapping[str, str]  # file -> SHA-256
    cached: bool


class Builder:
    """Builds below one folder, `builds/NAME/KEY/`; a finished build is never built again."""

    def __init__(self, host: Host, folder: Path) -> None:
        self._host = host
        self._folder = folder

    def find(self, server: Server, probes: list[Probe]) -> Built | None:
        """The finished build of exactly this folder, recipe and toolchain, if there is one."""
        files, toolchains = hash_files(server.folder), versions(probes)
        key = build_key(server, files, toolchains)
        path = self._folder / server.name / key
        done = path.with_suffix(".json")
        if not (done.is_file() and path.is_dir()):
            return None
        told = json.loads(done.read_text(encoding="utf-8"))
        return Built(
            server, key, path, told["log"], told["elapsed_s"], toolchains, files, cached=True
        )

    def build(self, server: Server, probes: list[Probe]) -> Built:
        """Find the build, or make it. Raises `BuildFailed` with the last lines of its log."""
        if (found := self.find(server, probes)) is not None:
            return found
        files, toolchains = hash_files(server.folder), versions(probes)
        key = build_key(server, files, toolchains)
        path = self._folder / server.name / key
        try:
            with _alone(path.with_suffix(".lock")):
                if (found := self.find(server, probes)) is not None:
                    return found  # another deadheat has just made it
                return self._make(server, key, path, files, toolchains)
        except OSError as error:
            raise BuildFailed(
                f"{server.name}: cannot be built in {path}: {error}",
                "make room there, or name another place with DEADHEAT_HOME",
            ) from error

    def _make(
        self,
        server: Server,
        key: str,
        path: Path,
        files: Mapping[str, str],
        toolchains: Mapping[str, str],
    ) -> Built:
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(server.folder, path, ignore=shutil.ignore_patterns(*IGNORED))
        begun_s = self._host.now_s()
        log = self._run_steps(server, path, path.with_suffix(".log"))
        elapsed_s = self._host.now_s() - begun_s
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps({"log": log, "elapsed_s": elapsed_s}), encoding="utf-8")
        unfinished.rename(path.with_suffix(".json"))  # only now is it a build
        return Built(server, key, path, log, elapsed_s, toolchains, files, cached=False)

    def _run_steps(self, server: Server, path: Path, log_path: Path) -> str:
        log = ""
        env = fill_env(server.build_env, {"build": str(path)})
        for step in server.steps:
            command = fill(step, {"build": str(path)})
            log += f"$ {' '.join(command)}\n"
            try:
                done = self._host.run(
                    ProcessSpec(command, cwd=str(path), env=env), server.build_timeout_s
                )
            except HostError as error:
                log_path.write_text(log + str(error), encoding="utf-8")
                raise BuildFailed(f"{server.name}: build step cannot run: {error}") from error
            log += done.stdout + done.stderr
            log_path.write_text(log, encoding="utf-8")
            if done.exit_code != 0:
                how = (
                    f"ended with {done.exit_code}"
                    if done.exit_code is not None
                    else f"was stopped after {server.build_timeout_s:.0f} s"
                )
                tail = "\n".join(f"  | {line}" for line in log.splitlines()[-LOG_LINES_SHOWN:])
                raise BuildFailed(
                    f"{server.name}: build step `{' '.join(step)}` {how}\n{tail}",
                    f"the whole log: {log_path}",
                )
        return log


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Two deadheats that want the same build make it once: the second waits for the first."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def hash_files(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a server's folder that goes into its build."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not set(path.relative_to(folder).parts) & set(IGNORED)
    }


def versions(probes: list[Probe]) -> dict[str, str]:
    """Tool -> version, of the needs that are met."""
    return {probe.need.tool: probe.version for probe in probes if probe.version is not None}


def build_key(server: Server, files: Mapping[str, str], toolchains: Mapping[str, str]) -> str:
    """What a build depends on, in twelve hexadecimal digits. How it is started is no part of it."""
    built_from = {
        "files": {name: digest for name, digest in files.items() if name != "server.toml"},
        "steps": server.steps,
        "env": dict(server.build_env),
        "toolchains": dict(toolchains),
    }
    return hashlib.sha256(json.dumps(built_from, sort_keys=True).encode()).hexdigest()[:12]
