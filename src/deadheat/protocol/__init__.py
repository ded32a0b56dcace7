"""Protocols: `protocols/*.toml`, which say what to measure."""

import difflib
from pathlib import Path
from typing import Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict

from deadheat.catalog import file_fault, layered, layered_names, read_toml
from deadheat.errors import DeadheatError
from deadheat.protocol.amend import amend
from deadheat.protocol.model import (
    KINDS,
    AloneProtocol,
    Fixed,
    Protocol,
    RateProtocol,
    Recovery,
    Repetitions,
    Restart,
    SearchProtocol,
    Settle,
    SliceProtocol,
    StoredProtocol,
    Warmup,
    protocol_of,
)

__all__ = [
    "AloneProtocol",
    "Fixed",
    "Protocol",
    "RateProtocol",
    "Recovery",
    "Repetitions",
    "Restart",
    "SearchProtocol",
    "Settle",
    "SliceProtocol",
    "StoredProtocol",
    "Warmup",
    "amend",
    "load_as",
    "load_protocol",
    "protocol_names",
    "protocol_of",
]


P = TypeVar("P", SliceProtocol, AloneProtocol, SearchProtocol)


class _Kind(BaseModel):
    """The key that says which others a protocol has."""

    model_config = ConfigDict(strict=True)

    kind: Literal["slices", "rate", "alone", "search"]


def protocol_names(root: Path) -> list[str]:
    """The names of the protocols of a catalog and of the shipped one."""
    return layered_names(root, "protocols")


def load_protocol(root: Path, name: str) -> Protocol:
    """Read `protocols/NAME.toml`, or the file at a path.

    Raises `FileFault` with file and line, or `DeadheatError` with the nearest names.
    """
    path = Path(name) if name.endswith(".toml") else layered(root, f"protocols/{name}.toml")
    if not path.is_file():
        names = protocol_names(root)
        near = difflib.get_close_matches(name, names)
        raise DeadheatError(
            f"--protocol {name}: no file {path}",
            f"did you mean {' or '.join(near)}?" if near else f"available: {', '.join(names)}",
        )
    protocol = read_toml(path, KINDS[read_toml(path, _Kind).kind])
    if protocol.name != path.stem:
        raise file_fault(path, [(("name",), f"expected the name of the file, {path.stem!r}")])
    return protocol


def load_as(root: Path, name: str, kind: type[P]) -> P:
    """Read a protocol as `load_protocol` does. Raises `DeadheatError` for one of another kind."""
    protocol = load_protocol(root, name)
    if not isinstance(protocol, kind) or type(protocol) is not kind:  # `rate` is no race in slices
        wanted = kind.model_fields["kind"].annotation
        raise DeadheatError(
            f"--protocol {name}: its kind is {protocol.kind!r}, and here it has to be "
            f"{get_args(wanted)[0]!r}",
            "`deadheat protocols` lists others",
        )
    return protocol
