"""`servers/` and `recipes/`, read and checked."""

from deadheat.catalog.catalog import Catalog, choose, find_root, load_catalog
from deadheat.catalog.placeholders import fill, fill_env
from deadheat.catalog.server import Contender, Server, contender, load_server
from deadheat.catalog.toml_lines import FileFault, file_fault, model_faults, read_toml
from deadheat.catalog.toolchain import Probe, Toolchains, missing

__all__ = [
    "Catalog",
    "Contender",
    "FileFault",
    "Probe",
    "Server",
    "Toolchains",
    "choose",
    "contender",
    "file_fault",
    "fill",
    "fill_env",
    "find_root",
    "load_catalog",
    "load_server",
    "missing",
    "model_faults",
    "read_toml",
]
