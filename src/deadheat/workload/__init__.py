"""Workloads: `workloads/*.toml`, the requests of a load and what a right answer is."""

import difflib
from pathlib import Path

from deadheat.catalog import file_fault, layered, layered_names, read_toml
from deadheat.errors import UsageFault
from deadheat.workload.model import HELLO, Level, Workload, over, parts_of
from deadheat.workload.sample import SampleRequest

__all__ = [
    "HELLO",
    "Level",
    "SampleRequest",
    "Workload",
    "load_workload",
    "over",
    "parts_of",
    "workload_names",
]


def workload_names(root: Path) -> list[str]:
    """The names of the workloads of a catalog and of the shipped one; `hello` first."""
    return sorted(layered_names(root, "workloads"), key=lambda name: (name != HELLO, name))


def load_workload(root: Path, name: str) -> Workload:
    """Read `workloads/NAME.toml`, or the file at a path that ends in .toml.

    Raises `FileFault` with file and line, or `DeadheatError` with the nearest names.
    """
    path = Path(name) if name.endswith(".toml") else layered(root, f"workloads/{name}.toml")
    if not path.is_file():
        names = workload_names(root)
        near = difflib.get_close_matches(name, names)
        known = ", ".join(names) or "none"
        raise UsageFault(
            f"no workload {name!r}: no file {path}",
            f"did you mean {' or '.join(near)}?" if near else f"available: {known}",
        )
    workload = read_toml(path, Workload)
    if workload.name != path.stem:
        raise file_fault(path, [(("name",), f"expected the name of the file, {path.stem!r}")])
    return workload
