"""The install lines of the servers of `make run`, on a root that has nothing but Debian 12.

It downloads some hundred MB, so it runs only where DEADHEAT_CLEAN_ROOT names a folder for the root.
A folder that holds one already is used as it is.
"""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.catalog import Catalog, Toolchains, load_catalog, missing
from deadheat.cli.install import install_missing
from deadheat.host import Completed, ProcessSpec
from deadheat.host.fake import FakeHost
from deadheat.host.local import LocalHost

ROOT = Path(__file__).resolve().parents[2]
MIRROR = "http://deb.debian.org/debian"
EIGHT = re.search(r"^FIRST_EIGHT := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
CLEAN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

pytestmark = [
    pytest.mark.skipif(
        "DEADHEAT_CLEAN_ROOT" not in os.environ,
        reason="takes minutes: set DEADHEAT_CLEAN_ROOT to a new folder for a Debian root",
    ),
    pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root"),
    pytest.mark.skipif(shutil.which("debootstrap") is None, reason="no debootstrap"),
]


class Chroot(FakeHost):
    """A host whose commands run in another root, with a clean environment."""

    def __init__(self, host: LocalHost, root: Path) -> None:
        super().__init__()
        self._local, self._root = host, root

    def run(self, spec: ProcessSpec, timeout_s: float) -> Completed:
        kept = ["SSL_CERT_FILE=/authorities.pem"] if "SSL_CERT_FILE" in os.environ else []
        variables = [f"PATH={CLEAN_PATH}", "HOME=/root", "DEBIAN_FRONTEND=noninteractive", *kept]
        words = ["env", "-i", *variables, "chroot", str(self._root), *spec.command]
        return self._local.run(replace(spec, command=words), timeout_s)


@pytest.fixture(scope="module")
def clean() -> Iterator[Chroot]:
    root = Path(os.environ["DEADHEAT_CLEAN_ROOT"])
    if not (root / "etc" / "debian_version").exists():
        command = ["debootstrap", "--variant=minbase", "bookworm", str(root), MIRROR]
        subprocess.run(command, check=True, capture_output=True)
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    if authorities := os.environ.get("SSL_CERT_FILE"):
        shutil.copy(authorities, root / "authorities.pem")  # Debian's own are replaced
    subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)
    try:
        with LocalHost() as host:
            yield Chroot(host, root)
    finally:
        subprocess.run(["umount", "--lazy", str(root / "proc")], check=True)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


def unreachable(command: str) -> str | None:
    """The first host named in the command that does not resolve here."""
    for name in re.findall(r"https://([^/\s]+)", command.partition("||")[0]):
        try:
            socket.getaddrinfo(name, 443)
        except OSError:
            return str(name)
    return None


@pytest.mark.parametrize("name", EIGHT[1].replace("\\\n", " ").split() if EIGHT else [])
def test_the_install_lines_of_a_server_make_it_ready(
    name: str, clean: Chroot, catalog: Catalog
) -> None:
    server = catalog.servers[name]
    for probe in missing(Toolchains(clean).check(server)):
        if host := unreachable(probe.need.install):
            pytest.skip(f"{host} cannot be reached from here")
    install_missing(clean, [server])
    assert missing(Toolchains(clean).check(server)) == []
