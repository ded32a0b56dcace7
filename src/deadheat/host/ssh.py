"""Another machine as a host, over OpenSSH.

What goes over a link before the first request is the agent, as an archive in memory. The far side
runs `python3` with a one-line program that reads the second program, up to a zero byte, and runs
it. The second one reads the archive into a file without a name and becomes the agent in it. So the
far side needs no file of ours, and has the version of this side.
"""

import base64
import io
import re
import statistics
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath

from deadheat.errors import LinkLost
from deadheat.host import HostError, Limits
from deadheat.host.agent_host import AgentHost
from deadheat.host.fingerprint import FarHost, Fingerprint, LinkSpeed
from deadheat.host.local import AGENT_PATH

# Without quotes, backslashes and line ends, so that every login shell passes it on as it is.
FIRST = "import os,sys;exec(bytes().join(iter(lambda:os.read(0,1)or bytes(1),bytes(1))))"
SECOND = """
import json, os, sys
def refuse(message, hint):
    sys.stdout.write(json.dumps({"id": 0, "error": {"message": message, "hint": hint}}) + "\\n")
    sys.stdout.flush()
    os._exit(1)
if sys.version_info < (3, 8):
    refuse("python3 is version %d.%d: expected 3.8 or later" % sys.version_info[:2],
           "install a newer Python, and let `python3` start it")
if not sys.platform.startswith("linux"):
    refuse("the system is %s: expected Linux" % sys.platform, "use a machine with Linux")
def read(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            os._exit(1)
        data += part
    return data
archive = read(int(read(10)))
if hasattr(os, "memfd_create"):
    descriptor = os.memfd_create("deadheat-agent", 0)
else:
    import tempfile
    descriptor = os.dup(tempfile.TemporaryFile().fileno())
while archive:
    archive = archive[os.write(descriptor, archive):]
os.set_inheritable(descriptor, True)
path = "/proc/self/fd/%d/agent" % descriptor
os.execv(sys.executable, [sys.executable, "-I", "-S", path] + ARGUMENTS)
"""
# Part of ssh's message -> cause and hint. The first match counts.
CAUSES = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key is not the one that ssh knows",
        "ask its administrator; if the change is right: ssh-keygen -R HOST, then ssh HOST",
    ),
    (
        "Host key verification failed",
        "ssh does not know its host key",
        "connect once by hand, and compare the fingerprint: ssh TARGET",
    ),
    (
        "Permission denied",
        "it refused every key that ssh offered",
        "let `ssh TARGET true` work without a password: ssh-copy-id TARGET, or ssh-add",
    ),
    (
        "Could not resolve hostname",
        "no such host",
        "check the name, or give its Host entry in ~/.ssh/config a HostName",
    ),
    (
        "Connection refused",
        "no ssh server answers there",
        "start sshd there, or give its port in ~/.ssh/config",
    ),
    ("timed out", "it does not answer", "check the address, the cable and the firewall"),
    ("No route to host", "no route leads there", "check the address, the cable and the firewall"),
    ("Network is unreachable", "no route leads there", "check the address and the network"),
)
NOT_FOUND = 127  # a shell's exit code for a program that does not exist
CHUNK_BYTES = 1 << 16  # small, so that heartbeats pass between them on a slow link
LOCK_S = 3600.0  # another deadheat builds the same server meanwhile
UNPACK_S = 300.0
ROUND_TRIPS = 21
SSH = "ssh"
HEARTBEAT_S = 2.0
SILENCE_S = 10.0  # the far agent ends its trees if it hears nothing for this long
CONNECT_S = 15
GREETING_S = 45.0  # to connect, to send the agent over a slow link, and to start it
ALIVE_S, ALIVE_LOST_MAX = 3, 3  # ssh gives up a silent connection after about 9 s
OPTIONS = {
    "BatchMode": "yes",  # fail instead of asking
    "StrictHostKeyChecking": "yes",
    "ConnectTimeout": str(CONNECT_S),
    "ControlPath": "none",  # a shared connection would not have the next two
    "ServerAliveInterval": str(ALIVE_S),
    "ServerAliveCountMax": str(ALIVE_LOST_MAX),
    "ForwardAgent": "no",
    "ForwardX11": "no",
}
TARGET = re.compile(r"(?:[^@\s-][^@\s]*@)?[^@\s-][^@\s]*")


class SshHost(AgentHost):
    """Another machine through an agent at the other end of a connection of ssh.

    `target` is `[user@]host` as ssh takes it, also a Host of ~/.ssh/config. Raises `HostError`,
    with the cause, if the connection does not come about or the agent cannot work there. If the
    connection is cut or this process dies, the far agent ends what it started, within
    `SILENCE_S`, and every request raises `LinkLost`. `isolate`: see `LocalHost`.
    """

    greeting_s = GREETING_S

    def __init__(self, target: str, limits: Limits | None = None, isolate: bool = False) -> None:
        if not TARGET.fullmatch(target):
            raise HostError(f"{target!r}: expected [user@]host", "such as lab@192.168.10.10")
        self.target = self.name = target
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
        """The median time from an empty question to its answer."""
        took_s = []
        for _ in range(ROUND_TRIPS):
            begun_s = time.perf_counter()
            self._ask("ping")
            took_s.append(time.perf_counter() - begun_s)
        return round(statistics.median(took_s) * 1e6, 1)

    def cache_folder(self) -> PurePosixPath:
        """The folder for what the next run can use again: `~/.cache/deadheat`."""
        return PurePosixPath(self._ask("cache_folder"))

    def scratch_folder(self) -> PurePosixPath:
        """A folder that ends with the agent."""
        return PurePosixPath(self._ask("scratch_folder"))

    def require_room(self, size_bytes: int) -> None:
        """Raises `HostError` if builds, or logs, have less free space than this."""
        for folder in (self.cache_folder(), self.scratch_folder()):
            if self._ask("free_bytes", path=str(folder)) < size_bytes:
                raise HostError(
                    f"{self.target}: {folder} has less than {size_bytes >> 20} MiB of free space",
                    "free space there, or choose another place with XDG_CACHE_HOME and TMPDIR "
                    "in ~/.bashrc there",
                )

    def read_file(self, path: PurePosixPath) -> str | None:
        """The text of a file; None without one."""
        text: str | None = self._ask("read_file", path=str(path))
        return text

    def write_file(self, path: PurePosixPath, text: str) -> None:
        """Write a file, whole or not at all."""
        self.send_file(path, text.encode())

    def send_file(self, path: PurePosixPath, content: bytes, executable: bool = False) -> None:
        """Send a file; it appears when it is complete."""
        part = f"{path}.part"
        for begin in range(0, max(len(content), 1), CHUNK_BYTES):
            chunk = base64.b64encode(content[begin : begin + CHUNK_BYTES]).decode()
            self._ask("append_file", path=part, chunk=chunk, is_first=begin == 0)
        self._ask("finish_file", part=part, path=str(path), executable=executable)

    def send_folder(self, source: Path, target: PurePosixPath, ignored: tuple[str, ...]) -> None:
        """Send a folder without the names in `ignored`; it replaces what is there."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            archive.add(
                source,
                arcname=".",
                filter=lambda entry: None if PurePosixPath(entry.name).name in ignored else entry,
            )
        self.send_archive(packed.getvalue(), target)

    def send_archive(self, archive: bytes, target: PurePosixPath) -> None:
        """Send a tar, compressed or not, and unpack it there; it replaces what is there."""
        archive_path = target.with_name(f"{target.name}.tar")
        self.send_file(archive_path, archive)
        self._ask("unpack", UNPACK_S, archive=str(archive_path), folder=str(target))

    @contextmanager
    def locked(self, path: PurePosixPath) -> Iterator[None]:
        """Hold a lock there: another deadheat that needs it waits."""
        name = self._ask("lock", LOCK_S, path=str(path))
        try:
            yield
        finally:
            self._ask("unlock", lock=name)

    def _gone(self) -> HostError | LinkLost:
        if self._broken is not None:
            return self._broken
        stderr = self._last_words()
        if self._greeting.done() and self._greeting.exception() is None:
            return LinkLost(self.target, stderr.splitlines()[-1] if stderr else "")
        return connection_error(self.target, self._agent.poll(), stderr)


def preamble(arguments: Sequence[str]) -> bytes:
    """What the far command reads before it is the agent, which gets `arguments`."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(AGENT_PATH.glob("*.py")):
            archive.writestr(zipfile.ZipInfo(f"agent/{path.name}"), path.read_bytes())
    second = SECOND.replace("ARGUMENTS", repr([str(each) for each in arguments]))
    return second.encode() + b"\0" + b"%10d" % len(packed.getvalue()) + packed.getvalue()


def connection_error(target: str, exit_code: int | None, stderr: str) -> HostError:
    """The error for an agent that never began to work."""
    said = " ".join(stderr.split())
    if exit_code == NOT_FOUND:
        return HostError(
            f"{target}: it has no python3",
            "install Python 3.8 or later there; nothing else is needed",
        )
    for words, cause, hint in CAUSES:
        if words in said:
            host = target.rpartition("@")[2]
            filled = hint.replace("TARGET", target).replace("HOST", host)
            return HostError(f"{target}: cannot connect: {cause}", filled)
    return HostError(
        f"{target}: cannot start the agent (exit code {exit_code})",
        f"its last output: {said[-500:]}" if said else f"try: ssh {target} python3 --version",
    )


def ssh_command(target: str) -> list[str]:
    """The command that starts an agent there."""
    options = [word for name, value in OPTIONS.items() for word in ("-o", f"{name}={value}")]
    return [SSH, "-T", *options, "--", target, f"exec python3 -I -S -c '{FIRST}'"]


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
