"""Our load engine on another machine: this machine's binary, sent once and kept there."""

import hashlib
import platform
from pathlib import Path, PurePosixPath

from deadheat.errors import DeadheatError
from deadheat.host import Completed, HostError, ProcessSpec
from deadheat.host.ssh import SshHost
from deadheat.load.engine import BINARY, Engine, find_engine

START_S = 10.0


def send_engine(host: SshHost) -> Engine:
    """The engine there. Raises `DeadheatError` if this machine's does not run there."""
    theirs, ours = host.fingerprint().architecture, platform.machine()
    if theirs != ours:
        raise DeadheatError(
            f"{host.target}: its architecture is {theirs}: the load engine here is for {ours}",
            f"use a host with {ours}, or run deadheat on a machine with {theirs}",
        )
    binary = Path(find_engine()).read_bytes()
    digest = hashlib.sha256(binary).hexdigest()[:12]
    path = host.cache_folder() / "engine" / digest / BINARY
    if _starts(host, path) is None:
        host.send_file(path, binary, executable=True)
    started = _starts(host, path)
    if started is None or started.exit_code != 0:
        said = started.stderr.strip() if started else "it cannot be started"
        raise DeadheatError(
            f"{host.target}: the load engine of this machine does not run there: {said[-300:]}",
            "use a host whose C library is as new as this machine's",
        )
    return Engine(str(path))


def _starts(host: SshHost, path: PurePosixPath) -> Completed | None:
    """What it says of its version; None if it does not exist there."""
    try:
        return host.run(ProcessSpec([str(path), "--version"]), START_S)
    except HostError:
        return None
