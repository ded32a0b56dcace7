"""`Certificates`: of one run, for the servers that it starts with TLS.

A CA and one certificate of it, both with new keys. They are made when the first server asks for
them, and their folder ends with the run.
"""

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Literal

NAMES = ("localhost", "127.0.0.1", "::1")
PLACEHOLDERS = ("{cert}", "{key}")
PREFIX = "deadheat-tls-"
TlsKey = Literal["ecdsa", "rsa"]


def wants_certificate(command: tuple[str, ...]) -> bool:
    """Whether a start command names a certificate; its server then speaks TLS."""
    return any(name in part for part in command for name in PLACEHOLDERS)


@dataclass(frozen=True, slots=True)
class Certificates:
    """The files of one run on this machine, in PEM. Its folder exists as soon as they do."""

    folder: Path
    key: TlsKey = "ecdsa"  # P-256; rsa: 2048 bits

    @property
    def ca(self) -> Path:
        """What a client has to trust."""
        return self._made("ca.pem")

    def values(self) -> dict[str, str]:
        """What replaces the placeholders of a start command."""
        return {"cert": str(self._made("cert.pem")), "key": str(self._made("key.pem"))}

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
            leaf = ca.issue_cert(*NAMES, key_type=kind)
            ca.cert_pem.write_to_path(self.folder / "ca.pem")
            key = to.load_pem_private_key(leaf.private_key_pem.bytes(), password=None)
            encoded = key.private_bytes(
                to.Encoding.PEM, to.PrivateFormat.PKCS8, to.NoEncryption()
            )  # which each library reads, that of Java too
            (self.folder / "key.pem").write_bytes(encoded)
            for pem in leaf.cert_chain_pems:
                pem.write_to_path(self.folder / "cert.pem", append=True)
        return path


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
