"""Protocols: `protocols/*.toml`, which say what to measure."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from deadheat.catalog import file_fault, model_faults, read_toml
from deadheat.errors import DeadheatError
from deadheat.protocol.amend import amend
from deadheat.protocol.model import (
    Entry,
    Protocol,
    Restart,
    Stopping,
    Warmup,
    label_of,
    workload_names_of,
    workloads_of,
)
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
    "label_of",
    "load_protocol",
    "protocol_names",
    "stored_protocol",
    "workload_names_of",
    "workloads_of",
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


def stored_protocol(run_id: str, values: Mapping[str, Any]) -> Protocol:
    """The stored protocol of a run. Raises `DeadheatError` if this version cannot read it."""
    try:
        return Protocol.model_validate(values)
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, location))}: {text}" if location else text
            for location, text in model_faults(error, values)
        ]
        raise DeadheatError(
            f"run {run_id}: its protocol cannot be read: {'; '.join(faults)}",
            f"use the version of deadheat that wrote it: `deadheat report {run_id}` names it",
        ) from error
