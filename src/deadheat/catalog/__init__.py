"""The catalog: reads and checks `servers/` and `recipes/`."""

from deadheat.catalog.catalog import Catalog, choose, find_root, load_catalog
from deadheat.catalog.layers import layered, layered_names
from deadheat.catalog.server import Selection, Server, fill, fill_env, load_server, selection
from deadheat.catalog.toml_lines import FileFault, faults_text, file_fault, read_toml
from deadheat.catalog.toolchain import Probe, Toolchains, missing

__all__ = [
    "Catalog",
    "FileFault",
    "Probe",
    "Selection",
    "Server",
    "Toolchains",
    "choose",
    "faults_text",
    "file_fault",
    "fill",
    "fill_env",
    "find_root",
    "layered",
    "layered_names",
    "load_catalog",
    "load_server",
    "missing",
    "read_toml",
    "selection",
]
