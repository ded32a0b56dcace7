"""`Certificates`: of one run, for the servers that it starts with TLS.

A CA and one certificate of it, both with new keys. They are made when the first server asks for
them, and their folder ends with the run. Hosts that need them get copies, which end with its agent.
"""

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from tempfile import gettempdir
from typing import TYPE_CHECKING, Literal

from deadheat.load.engine import CA, CA_FILE

if TYPE_CHECKING:
    from deadheat.host.ssh import SshHost

NAMES = ("localhost", "127.0.0.1", "::1")
PLACEHOLDERS = ("{cert}", "{key}")
PREFIX = "deadheat-tls-"
TlsKey = Literal["ecdsa", "rsa"]


def wants_certificate(command: tuple[str, ...]) -> bool:
    """Whether a start command names a certificate; its server then speaks TLS."""
    return any(name in part for part in command for name in PLACEHOLDERS)


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files of one run on this machine, in PEM. Its folder exists as soon as they do.

    `far` are the hosts that get the CA, and `server` is one of them if servers start there. It is
    named by `address`.
    """

    folder: Path
    key: TlsKey = "ecdsa"  # P-256; rsa: 2048 bits
    server: "SshHost | None" = None
    far: "tuple[SshHost, ...]" = ()
    address: str | None = None

    @property
    def ca(self) -> Path:
        """What a client has to trust."""
        return self._made("ca.pem")

    @property
    def trust(self) -> tuple[str, ...]:
        """The options with which an engine trusts them."""
        ca = self.ca  # which makes and sends them
        return ("--cacert", CA if self.far else str(ca))

    def values(self) -> dict[str, str]:
        """What replaces the placeholders of a start command."""
        files: dict[str, PurePath] = {name: self._made(f"{name}.pem") for name in ("cert", "key")}
        if self.server is not None:
            folder = (self.server.scratch_folder() / CA_FILE).parent
            files = {name: folder / path.name for name, path in files.items()}
        return {name: str(path) for name, path in files.items()}

    def _made(self, name: str) -> Path:
        path = self.folder / name
        if not path.exists():
            if not self.folder.is_dir():
                _remove_leftovers(self.folder.parent)
                self.folder.mkdir(mode=0o700)
            # Only here: they take long to import.
            import trustme
            from cryptography.hazmat.primitives import serialization as to

            kind = trustme.KeyType[self.key.upper()]
            ca = trustme.CA(organization_name="deadheat", key_type=kind)
            names = dict.fromkeys([*NAMES, *([self.address] if self.address else [])])
            leaf = ca.issue_cert(*names, key_type=kind)
            ca.cert_pem.write_to_path(self.folder / "ca.pem")
            key = to.load_pem_private_key(leaf.private_key_pem.bytes(), password=None)
            encoded = key.private_bytes(
                to.Encoding.PEM, to.PrivateFormat.PKCS8, to.NoEncryption()
            )  # which each library reads, that of Java too
            (self.folder / "key.pem").write_bytes(encoded)
            for pem in leaf.cert_chain_pems:
                pem.write_to_path(self.folder / "cert.pem", append=True)
            self._send()
        return path

    def _send(self) -> None:
        for host in self.far:
            files = ("ca.pem", "cert.pem", "key.pem") if host is self.server else ("ca.pem",)
            for name in files:
                target = (host.scratch_folder() / CA_FILE).with_name(name)
                host.send_file(target, (self.folder / name).read_bytes())


@contextmanager
def certificates() -> Iterator[Certificates]:
    """A folder that only this user can read, until the context ends."""
    name = f"{PREFIX}{os.getpid()}-{secrets.token_hex(8)}"
    made = Certificates(Path(gettempdir()) / name)
    try:
        yield made
    finally:
        shutil.rmtree(made.folder, ignore_errors=True)


def _remove_leftovers(temporary: Path) -> None:
    """Remove the folders of runs that were killed."""
    for left in temporary.glob(f"{PREFIX}*"):
        named = re.fullmatch(rf"{PREFIX}(\d+)-\w+", left.name)
        if named and not Path(f"/proc/{named[1]}").exists():
            shutil.rmtree(left, ignore_errors=True)
