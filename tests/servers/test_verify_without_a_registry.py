"""`verify` without a registry: the server does not fail; after a failed build it does."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from deadheat.cli import cli
from tests.servers.contenders import CATALOG

VERIFIED = 'verified = "upstream sources, 2026-11-20, versions hello 1"\n'


def _verify(folder: Path, message: str, verified: str = "") -> Result:
    """Verify the server `hello`, whose build prints a message and fails."""
    catalog = folder / "catalog"
    shutil.copytree(CATALOG, catalog)
    manifest = catalog / "servers" / "hello" / "server.toml"
    build = f'[build]\nsteps = [["sh", "-c", "echo {message} >&2; exit 1"]]\n\n[version]'
    text = manifest.read_text().replace("[version]", verified + build, 1)
    manifest.write_text(text)
    return CliRunner(env={"DEADHEAT_HOME": str(folder / "home")}).invoke(
        cli, ["verify", "hello", "--catalog", str(catalog)]
    )


@pytest.mark.parametrize(
    "message",
    [
        "Name service error in getaddrinfo: -2, Name or service not known",
        "curl: Could not resolve host: packages.example",
    ],
)
def test_unreachable_registry_is_not_a_failure(tmp_path: Path, message: str) -> None:
    ended = _verify(tmp_path, message)
    assert ended.exit_code == 0
    assert "lack hello: hello is left out: its registry cannot be reached" in ended.output
    assert ended.output.endswith("1 lack (a tool or registry is missing here)\n")
    assert "tried by hand" not in ended.output


def test_counts_recipes_verified_elsewhere(tmp_path: Path) -> None:
    ended = _verify(tmp_path, "Could not resolve host", VERIFIED)
    assert ended.exit_code == 0
    assert "is missing here); 1 of these has a recipe that was tried by hand" in ended.output


def test_failed_build_is_a_failure_even_if_verified_elsewhere(tmp_path: Path) -> None:
    ended = _verify(tmp_path, "hello.nim: undeclared identifier", VERIFIED)
    assert ended.exit_code == 1
    assert "FAIL hello" in ended.output
    assert ended.output.endswith("1 FAIL\n")
