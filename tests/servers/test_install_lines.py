"""The install lines of the servers of `make run`, each on a root that has nothing but Debian 12.

It downloads some hundred MB, so it runs only where DEADHEAT_CLEAN_ROOT names a folder for the root.
A folder that holds one already is used as it is. bench/install_lines.py tries all lines.
"""

import os
import re
from pathlib import Path

import pytest

from bench.clean_root import clean_root, make_base, unavailable, unreachable
from bench.install_lines import trials
from deadheat.catalog import Catalog, Toolchains, load_catalog, missing
from deadheat.catalog.toolchain import install_missing

ROOT = Path(__file__).resolve().parents[2]
EIGHT = re.search(r"^FIRST_EIGHT := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def folder() -> Path:
    if "DEADHEAT_CLEAN_ROOT" not in os.environ:
        pytest.skip("takes minutes: set DEADHEAT_CLEAN_ROOT to a new folder for a Debian root")
    if reason := unavailable():
        pytest.skip(reason)
    folder = Path(os.environ["DEADHEAT_CLEAN_ROOT"]).absolute()
    make_base(folder)
    return folder


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


@pytest.mark.parametrize("name", EIGHT[1].replace("\\\n", " ").split() if EIGHT else [])
def test_the_install_lines_of_a_server_make_it_ready(
    name: str, folder: Path, catalog: Catalog
) -> None:
    server = catalog.servers[name]
    for need in server.needs:
        if host := unreachable(need.install):
            pytest.skip(f"{host} cannot be reached from here")
    with clean_root(folder) as root:
        install_missing(root, [server])
        assert missing(Toolchains(root).check(server)) == []


def test_the_trials_of_install_lines_try_every_line(catalog: Catalog) -> None:
    lines = {need.install for server in catalog.servers.values() for need in server.needs}
    assert {line for tried, _ in trials(catalog.servers.values()) for line in tried} == lines
