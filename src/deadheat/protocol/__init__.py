"""Protocols: `protocols/*.toml`, which say what to measure."""

import difflib
from pathlib import Path

from deadheat.catalog import file_fault, read_toml
from deadheat.errors import DeadheatError
from deadheat.protocol.amend import amend
from deadheat.protocol.model import Entry, Protocol, Restart, Stopping, Warmup
from deadheat.protocol.origin import Origin
from deadheat.protocol.recovery import Recovery

__all__ = [
    "Entry",
    "Origin",
    "Protocol",
    "Recovery",
    "Restart",
    "Stopping",
    "Warmup",
    "amend",
    "load_protocol",
    "protocol_names",
]


def protocol_names(root: Path) -> list[str]:
    """The names of the protocols of a catalog."""
    return sorted(path.stem for path in (root / "protocols").glob("*.toml"))


def load_protocol(root: Path, name: str) -> Protocol:
    """Read `protocols/NAME.toml`, or the file at a path.

    Raises `FileFault` with file and line, or `DeadheatError` with the nearest names.
    """
    path = Path(name) if name.endswith(".toml") else root / "protocols" / f"{name}.toml"
    if not path.is_file():
        names = protocol_names(root)
        near = difflib.get_close_matches(name, names)
        raise DeadheatError(
            f"--protocol {name}: no file {path}",
            f"did you mean {' or '.join(near)}?" if near else f"available: {', '.join(names)}",
        )
    protocol = read_toml(path, Protocol)
    if protocol.name != path.stem:
        raise file_fault(path, [(("name",), f"expected the name of the file, {path.stem!r}")])
    return protocol
