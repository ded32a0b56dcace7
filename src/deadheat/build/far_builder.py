"""Builds servers on another machine; the folders of servers come from this one."""

import json
from contextlib import AbstractContextManager
from pathlib import Path, PurePosixPath

from deadheat.build.builder import Builder, BuildFailed, Built, build_key, finished_build, versions
from deadheat.catalog import Server
from deadheat.catalog.folder import IGNORED, hash_files
from deadheat.catalog.toolchain import Probe
from deadheat.host import HostError, ProcessSpec
from deadheat.host.ssh import SshHost

LOOK_S = 10.0


class FarBuilder(Builder):
    """Builds in `~/.cache/deadheat/builds/NAME/KEY/` there, with the toolchains there."""

    def __init__(self, host: SshHost, step_s: float | None = None) -> None:
        """`step_s`: see `Builder`."""
        super().__init__(host, Path(host.cache_folder() / "builds"), step_s)
        self._far = host
        self.place = f" on {host.target}"

    def find(self, server: Server, probes: list[Probe]) -> Built | None:
        key = build_key(server, hash_files(server.folder), versions(probes))
        path = self._folder / server.name / key
        record = self._far.read_file(PurePosixPath(path.with_suffix(".json")))
        if record is None:
            return None
        is_there = self._far.run(ProcessSpec(["test", "-d", str(path)]), LOOK_S).exit_code == 0
        return finished_build(server, key, path, json.loads(record), probes) if is_there else None

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
