"""`servers/` and `recipes/`, read and checked."""

from deadheat.catalog.catalog import Catalog, choose, find_root, load_catalog
from deadheat.catalog.server import Contender, Server, contender, fill, fill_env, load_server
from deadheat.catalog.toml_lines import FileFault, read_toml
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
    "fill",
    "fill_env",
    "find_root",
    "load_catalog",
    "load_server",
    "missing",
    "read_toml",
]
