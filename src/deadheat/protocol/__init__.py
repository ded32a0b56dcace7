"""`protocols/`: what to measure, as data."""

import difflib
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from deadheat.catalog import file_fault, model_faults, read_toml
from deadheat.errors import DeadheatError
from deadheat.protocol.model import Entry, Protocol, Stopping, Warmup

__all__ = ["Entry", "Protocol", "Stopping", "Warmup", "amend", "load_protocol", "protocol_names"]


def protocol_names(root: Path) -> list[str]:
    """The names of the protocols of a catalog."""
    return sorted(path.stem for path in (root / "protocols").glob("*.toml"))


def load_protocol(root: Path, name: str) -> Protocol:
    """Read `protocols/NAME.toml`, or a file named by its path.

    Raises `FileFault` with file and line, `DeadheatError` naming the nearest protocols.
    """
    path = Path(name) if name.endswith(".toml") else root / "protocols" / f"{name}.toml"
    if not path.is_file():
        names = protocol_names(root)
        near = difflib.get_close_matches(name, names)
        raise DeadheatError(
            f"--protocol: no file {path}",
            f"did you mean {' or '.join(near)}?" if near else f"there is {', '.join(names)}",
        )
    protocol = read_toml(path, Protocol)
    if protocol.name != path.stem:
        raise file_fault(path, [(("name",), f"expected the file's, {path.stem!r}")])
    return protocol


def amend(
    protocol: Protocol, changes: Mapping[str, object], stopping: Mapping[str, object]
) -> Protocol:
    """The protocol with the command line's values in place of its own, checked again.

    Values of None leave the protocol's as they are. Raises `DeadheatError`.
    """
    given = {key: value for key, value in changes.items() if value is not None}
    stop = {key: value for key, value in stopping.items() if value is not None}
    values = protocol.model_dump() | given
    values["stopping"] = values["stopping"] | stop
    try:
        return Protocol.model_validate(values)
    except ValidationError as error:
        told = [
            f"{'.'.join(map(str, location))}: {text}" if location else text
            for location, text in model_faults(error, values)
        ]
        raise DeadheatError(
            f"protocol {protocol.name} with these options: {'; '.join(told)}",
            f"`deadheat plan --protocol {protocol.name} --json` shows what it says by itself",
        ) from error
