"""Two hosts on one machine: two network namespaces, a cable between them, and sshd in one.

`server` has 192.168.10.10 and sshd; `load` has 192.168.10.11 and is where deadheat runs. Both see
the same files and processes, so a test can look for what is left. A second load host can be added.
"""

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deadheat.host.agent.kernel import environment_of, numbered
from tests.host.support import eventually

SERVER, LOAD = "192.168.10.10", "192.168.10.11"
SSHD = "/usr/sbin/sshd"
SECOND_LOAD = "192.168.12.12"
PORT = 2222
LOAD_MTU_BYTES = 1400  # the two sides differ, so that a test sees which one was read
# A link counts as lost after half of the usual time, because tests wait for that.
LOST_SOON = (
    "from deadheat.host import ssh; ssh.HEARTBEAT_S, ssh.SILENCE_S = 1.0, 5.0; "
    "ssh.OPTIONS |= {'ServerAliveInterval': '1', 'ServerAliveCountMax': '4'}; "
)
# How quiet the machines are changes no test: they are watched for a moment.
MAIN = (
    f"{LOST_SOON}from deadheat.host import cpu_time; cpu_time.READING_S = 0.1; "
    "from deadheat.cli import main; main()"
)
MARK = "DEADHEAT_BED"  # every process on the server host inherits it


def refusal() -> str | None:
    """Why this machine cannot have the test bed; None if it can."""
    if os.geteuid() != 0:
        return "two hosts in namespaces need root"
    for program in ("ip", "nsenter", "ssh", "ssh-keygen", SSHD):
        if shutil.which(program) is None:
            return f"two hosts in namespaces need {Path(program).name}"
    name = f"dh{uuid.uuid4().hex[:8]}"
    added = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if added.returncode != 0:
        return f"this machine gives no network namespace: {added.stderr.strip()}"
    subprocess.run(["ip", "netns", "delete", name], check=True)
    return None


@dataclass(frozen=True, slots=True)
class Bed:
    folder: Path
    name: str  # of this bed; its namespaces are NAME-s and NAME-l

    @property
    def target(self) -> str:
        return f"root@{SERVER}"

    @property
    def environment(self) -> dict[str, str]:
        """Of deadheat: its `ssh` uses the keys and the known hosts of the bed."""
        return {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "DEADHEAT_HOME": str(self.folder / "home"),
        }

    def on_load_host(self, *command: str) -> list[str]:
        return [*self.within("l"), *command]

    def within(self, side: str | None) -> list[str]:
        """What puts a command into a namespace; None: that of the machine itself."""
        if side is None:
            return []
        return ["nsenter", f"--net=/run/netns/{self.name}-{side}"]

    def deadheat(self, *words: str) -> subprocess.Popen[str]:
        """Start the command line on the load host."""
        return subprocess.Popen(
            self.on_load_host(sys.executable, "-c", MAIN, *words),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def python(self, code: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Python code with deadheat on the load host."""
        return subprocess.run(
            self.on_load_host(sys.executable, "-c", code, *words),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def cut(self) -> None:
        run("ip", "-n", f"{self.name}-s", "link", "set", "cable", "down")

    def mend(self) -> None:
        run("ip", "-n", f"{self.name}-s", "link", "set", "cable", "up")
        eventually(self.is_reachable)

    def is_reachable(self, port: int = PORT) -> bool:
        knock = f"import socket; socket.create_connection(('{SERVER}', {port}), 1)"
        command = self.on_load_host(sys.executable, "-c", knock)
        return subprocess.run(command, capture_output=True).returncode == 0

    def left(self) -> list[int]:
        """The processes of agents and of what they started on the server host."""
        mark, name = MARK.encode(), self.name.encode()
        return [pid for pid in numbered(Path("/proc")) if environment_of(pid).get(mark) == name]

    def configure_ssh(self, lines: Mapping[str, str]) -> None:
        """Change options of the client, such as IdentityFile."""
        config = {
            "Port": str(PORT),
            "User": "root",
            "IdentityFile": str(self.folder / "key"),
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "UserKnownHostsFile": str(self.folder / "known_hosts"),
            "GlobalKnownHostsFile": "/dev/null",
            **lines,
        }
        (self.folder / "ssh_config").write_text("".join(f"{k} {v}\n" for k, v in config.items()))


@contextmanager
def two_hosts(folder: Path, environment: Mapping[str, str] | None = None) -> Iterator[Bed]:
    """The bed, until the context ends; `environment` is added to that of the server host."""
    bed = Bed(folder, f"dh{uuid.uuid4().hex[:8]}")
    _make_keys(bed)
    try:
        _lay_cable(bed)
        with sshd(bed, environment or {}):
            yield bed
    finally:
        for side in "sl":
            subprocess.run(["ip", "netns", "delete", f"{bed.name}-{side}"], check=False)


@contextmanager
def second_load_host(bed: Bed) -> Iterator[str]:
    """What ssh calls another load host, which has cables to both others, until the context ends."""
    name = f"{bed.name}-m"
    run("ip", "netns", "add", name)
    try:
        run("ip", "-n", name, "link", "set", "lo", "up")
        for side, ours, theirs in (
            ("l", SECOND_LOAD, "192.168.12.11"),
            ("s", "192.168.13.12", "192.168.13.10"),
        ):
            peer = ("peer", "name", "second", "netns", f"{bed.name}-{side}")
            run("ip", "-n", name, "link", "add", f"to-{side}", "type", "veth", *peer)
            for namespace, address, device in (
                (name, ours, f"to-{side}"),
                (f"{bed.name}-{side}", theirs, "second"),
            ):
                run("ip", "-n", namespace, "address", "add", f"{address}/24", "dev", device)
                run("ip", "-n", namespace, "link", "set", device, "up")
        run("ip", "-n", name, "route", "add", SERVER, "dev", "to-s", "src", "192.168.13.12")
        with sshd(bed, {}, side="m", address=SECOND_LOAD):
            yield f"root@{SECOND_LOAD}"
    finally:
        subprocess.run(["ip", "netns", "delete", name], check=False)


@contextmanager
def sshd(
    bed: Bed,
    environment: Mapping[str, str],
    port: int = PORT,
    side: str | None = "s",
    address: str = SERVER,
) -> Iterator[None]:
    """An sshd on the server host or another; `environment` is added to that of its sessions."""
    home = bed.folder / "far-home"  # without the shell's files of this user
    home.mkdir(exist_ok=True)
    own = {MARK: bed.name, "HOME": str(home), "PATH": os.environ["PATH"]}
    marked = {**own, **environment}
    name = f"sshd-{side}-{port}"
    config, log_path = (bed.folder / f"{name}.{kind}" for kind in ("config", "log"))
    words = " ".join(f"{name}={value}" for name, value in marked.items())
    config.write_text(
        f"Port {port}\nListenAddress {address}\nHostKey {bed.folder / 'host_key'}\n"
        f"AuthorizedKeysFile {bed.folder / 'key.pub'}\nStrictModes no\nUsePAM no\n"
        f"PermitRootLogin prohibit-password\nPidFile none\nSetEnv {words}\n"
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    command = [*bed.within(side), SSHD, "-D", "-e", "-f", str(config)]
    with log_path.open("w") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)
    try:
        eventually(lambda: "Server listening" in log_path.read_text())
        yield
    finally:
        process.terminate()
        process.wait()


def _make_keys(bed: Bed) -> None:
    folder = bed.folder
    for name in ("host_key", "key", "other_key"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name))
    host_key = " ".join((folder / "host_key.pub").read_text().split()[:2])
    (folder / "known_hosts").write_text(
        "".join(f"[{SERVER}]:{port} {host_key}\n" for port in (PORT, PORT + 1))
        + "".join(f"[{host}]:{PORT} {host_key}\n" for host in (SECOND_LOAD, "127.0.0.1"))
    )
    (folder / "bin").mkdir()
    wrapper = folder / "bin" / "ssh"
    real = shutil.which("ssh")
    wrapper.write_text(f'#!/bin/sh\nexec {real} -F {folder / "ssh_config"} "$@"\n')
    wrapper.chmod(0o755)
    bed.configure_ssh({})


def _lay_cable(bed: Bed) -> None:
    server, load = f"{bed.name}-s", f"{bed.name}-l"
    run("ip", "netns", "add", server)
    run("ip", "netns", "add", load)
    peer = ("peer", "name", "cable", "netns", load)
    run("ip", "-n", server, "link", "add", "cable", "type", "veth", *peer)
    for namespace, address in ((server, SERVER), (load, LOAD)):
        run("ip", "-n", namespace, "address", "add", f"{address}/24", "dev", "cable")
        run("ip", "-n", namespace, "link", "set", "lo", "up")
        run("ip", "-n", namespace, "link", "set", "cable", "up")
    run("ip", "-n", load, "link", "set", "cable", "mtu", str(LOAD_MTU_BYTES))


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
