"""What probes printed is kept for a while, so that `deadheat list` answers quickly."""

import json
import os
from pathlib import Path

import pytest

from deadheat.catalog import toolchain
from deadheat.catalog.toolchain import ProbeCache


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "bin" / "tool"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\necho 1\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent))
    return path


COMMAND = ("tool", "--version")


def kept(folder: Path, output: str | None = "tool 1") -> ProbeCache:
    """A new cache with what an earlier one kept: an output, or that the command failed."""
    cache = ProbeCache(folder / "home" / "probes.json")
    cache.put(COMMAND, output)
    cache.save()
    return ProbeCache(folder / "home" / "probes.json")


def test_an_output_is_kept_until_its_program_changes(tmp_path: Path, program: Path) -> None:
    cache = kept(tmp_path)
    assert cache.get(COMMAND) == "tool 1"
    program.write_text("#!/bin/sh\necho a newer one\n")
    assert cache.get(COMMAND) is None


def test_another_search_path_is_probed_again(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = kept(tmp_path)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/nowhere")
    assert cache.get(COMMAND) is None


def test_an_old_output_is_probed_again(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert program.is_file()
    kept(tmp_path)
    monkeypatch.setattr(toolchain, "KEPT_S", 0.0)
    assert ProbeCache(tmp_path / "home" / "probes.json").get(COMMAND) is None


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize("text", ["", "[1]", '{"a": 1}', "not JSON"])
def test_a_broken_file_is_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "probes.json").write_text(text)
    cache = ProbeCache(tmp_path / "probes.json")
    assert cache.get(COMMAND) is None
    cache.put(COMMAND, "tool 1")
    cache.save()
    assert json.loads((tmp_path / "probes.json").read_text())


def test_a_missing_program_needs_no_probe_and_is_not_kept(program: Path) -> None:
    cache = ProbeCache(program.parent / "probes.json")
    assert cache.failed(("no-such-tool",))
    cache.put(("no-such-tool",), "1")
    cache.save()
    assert not (program.parent / "probes.json").exists()


def test_a_failure_is_kept_until_something_is_installed(tmp_path: Path, program: Path) -> None:
    cache = kept(tmp_path, None)
    assert (cache.failed(COMMAND), cache.get(COMMAND)) == (True, None)
    (program.parent / "another").touch()
    os.utime(program.parent, ns=(1, 1))
    assert not ProbeCache(tmp_path / "home" / "probes.json").failed(COMMAND)


@pytest.mark.usefixtures("program")
def test_a_dropped_output_is_probed_again(tmp_path: Path) -> None:
    cache = kept(tmp_path)
    cache.drop(COMMAND)
    assert cache.get(COMMAND) is None
    assert not cache.failed(COMMAND)
