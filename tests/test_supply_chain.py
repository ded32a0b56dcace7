"""What is shipped from others has its licenses, and an audit says what it could not check."""

import importlib.util
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from deadheat.report.formats import page

ROOT = Path(__file__).resolve().parents[1]
DASHES = "-" * 5
PRIVATE_KEY = re.compile(rb"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")  # PEM, PGP
KEY_FILES = {".key", ".pem", ".p8", ".p12", ".pfx", ".jks", ".keystore", ".ppk"}
spec = importlib.util.spec_from_file_location("supply_chain", ROOT / "docs" / "supply_chain.py")
assert spec is not None
assert spec.loader is not None
supply_chain = importlib.util.module_from_spec(spec)
spec.loader.exec_module(supply_chain)


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_the_licenses_are_those_of_the_crates_in_the_engine() -> None:
    written = (ROOT / "THIRD_PARTY.txt").read_text(encoding="utf-8")
    assert written == supply_chain.licenses(), "make licenses"
    assert "io-uring 0" in written


def test_the_wheel_has_the_licenses() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "THIRD_PARTY.txt" in project["project"]["license-files"]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone")
def test_no_private_key_is_in_the_repository() -> None:
    """deadheat makes certificates and their keys per run: a stored one would be everyone's."""
    listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    paths = [ROOT / name for name in listed.rstrip("\0").split("\0")]
    files = [path for path in paths if path.is_file() and not path.is_symlink()]
    assert ROOT / "pyproject.toml" in files
    assert PRIVATE_KEY.search(f"{DASHES}BEGIN EC PRIVATE KEY{DASHES}".encode())
    assert [path for path in files if path.suffix in KEY_FILES] == []
    assert [path for path in files if PRIVATE_KEY.search(path.read_bytes())] == []


def test_tools_that_build_are_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert all("==" in requirement for requirement in project["build-system"]["requires"])
    assert re.search(r"pip install .* uv==[\d.]+$", (ROOT / "Makefile").read_text(), re.M)


def test_the_page_has_the_licenses_of_its_packages() -> None:
    if not page.PAGE.is_file():
        pytest.skip("the page is not built: make page")
    html = page.PAGE.read_text(encoding="utf-8")
    notice = html[html.rindex("<!--") :]
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    for name in ("d3-selection", "d3-scale", "@observablehq/plot"):
        assert f"{name} {lock[f'node_modules/{name}']['version']}" in notice
    assert "Mike Bostock" in notice
    assert notice.count("-->") == 1
    assert notice.rstrip().endswith("-->")


@pytest.mark.parametrize(
    ("code", "output", "verdict"),
    [
        (0, "No known vulnerabilities found", "no known vulnerability"),
        (0, "rich  Dependency not found on PyPI and could not be audited: rich", None),
        (127, "No such file or directory: 'uv'", None),
        (1, "Found 2 known vulnerabilities in 1 package", "VULNERABLE"),
    ],
)
def test_an_audit_that_saw_no_database_is_not_a_pass(
    code: int, output: str, verdict: str | None
) -> None:
    shown = supply_chain.python_verdict(code, output)
    assert (shown or "").partition("\n")[0] == (verdict or "")


def test_an_audit_reads_npm_and_cargo() -> None:
    clean = json.dumps({"metadata": {"vulnerabilities": {"total": 0}}})
    bad = json.dumps({"metadata": {"vulnerabilities": {"total": 2}}})
    assert supply_chain.page_verdict(clean) == "no known vulnerability"
    assert supply_chain.page_verdict(bad).startswith("VULNERABLE")
    assert supply_chain.page_verdict('{"error": {"code": "E405"}}') is None
    assert supply_chain.engine_verdict('{"vulnerabilities": {"found": false}}') is not None
    assert supply_chain.engine_verdict('{"vulnerabilities": {"found": true}}')[:10] == "VULNERABLE"
    assert supply_chain.engine_verdict("error: no such command: `audit`") is None
