"""Roots that hold nothing but Debian 12: one made by debootstrap, and a fresh copy for each use.

Needs root, debootstrap and overlayfs. Packages are downloaded once and kept beside the root.
"""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

from deadheat.host import Completed, ProcessSpec
from deadheat.host.fake import FakeHost
from deadheat.host.local import LocalHost

MIRROR = "http://deb.debian.org/debian"
CLEAN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NO_SERVICES = "#!/bin/sh\nexit 101\n"  # packages start no daemon in this root


class Chroot(FakeHost):
    """A host whose commands run in another root, with a clean environment and their own pids."""

    def __init__(self, host: LocalHost, root: Path) -> None:
        super().__init__()
        self._local, self._root = host, root

    def run(self, spec: ProcessSpec, timeout_s: float) -> Completed:
        kept = ["SSL_CERT_FILE=/authorities.pem"] if "SSL_CERT_FILE" in os.environ else []
        variables = [f"PATH={CLEAN_PATH}", "HOME=/root", "DEBIAN_FRONTEND=noninteractive", *kept]
        apart = ["unshare", "--pid", "--fork", "--kill-child", f"--mount-proc={self._root}/proc"]
        words = ["env", "-i", *variables, *apart, "chroot", str(self._root), *spec.command]
        return self._local.run(replace(spec, command=words), timeout_s)


def unavailable() -> str | None:
    """Why there is no clean root on this machine, or None."""
    if os.geteuid() != 0:
        return "chroot needs root"
    if shutil.which("debootstrap") is None:
        return "no debootstrap"
    return None


def unreachable(command: str) -> str | None:
    """The first host named in the command that does not resolve here."""
    for name in re.findall(r"https://([^/\s]+)", command.partition("||")[0]):
        try:
            socket.getaddrinfo(name, 443)
        except OSError:
            return str(name)
    return None


def make_base(folder: Path) -> None:
    """Make the root `folder`/base, if it is not there."""
    base = folder / "base"
    if not (base / "etc" / "debian_version").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["debootstrap", "--variant=minbase", "bookworm", str(base), MIRROR]
        subprocess.run(command, check=True, capture_output=True)
    shutil.copy("/etc/resolv.conf", base / "etc" / "resolv.conf")
    if authorities := os.environ.get("SSL_CERT_FILE"):
        shutil.copy(authorities, base / "authorities.pem")  # Debian's own are replaced
    policy = base / "usr" / "sbin" / "policy-rc.d"
    policy.write_text(NO_SERVICES)
    policy.chmod(0o755)
    (folder / "archives" / "partial").mkdir(parents=True, exist_ok=True)


@contextmanager
def clean_root(folder: Path) -> Iterator[Chroot]:
    """A fresh copy of `folder`/base, which is gone afterwards."""
    copy = Path(mkdtemp(prefix="copy-", dir=folder))
    with ExitStack() as stack:
        stack.callback(_remove, copy)
        for part in ("upper", "work", "root"):
            (copy / part).mkdir()
        root = copy / "root"
        layers = f"lowerdir={folder}/base,upperdir={copy}/upper,workdir={copy}/work"
        _mount(stack, root, "-t", "overlay", "-o", layers, "overlay")
        _mount(stack, root / "var/cache/apt/archives", "--bind", str(folder / "archives"))
        yield Chroot(stack.enter_context(LocalHost()), root)


def _mount(stack: ExitStack, where: Path, *words: str) -> None:
    subprocess.run(["mount", *words, str(where)], check=True)
    stack.callback(subprocess.run, ["umount", str(where)], check=True)


def _remove(copy: Path) -> None:
    """Remove the copy, but nothing that is still mounted in it."""
    if not os.path.ismount(copy / "root"):
        shutil.rmtree(copy)
