"""Toolchains: probes, and what is kept of them so that `deadheat list` answers quickly."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from deadheat.catalog import (
    Probe,
    Server,
    Toolchains,
    find_root,
    load_catalog,
    load_server,
    missing,
    toolchain,
)
from deadheat.catalog.toolchain import ProbeCache, version_key
from deadheat.host.fake import FakeHost
from tests.catalog.conftest import MANIFEST, Folders, answering

NEED = """
[[needs]]
tool = "node"
probe = ["node", "--version"]
pattern = 'v(\\d+(?:\\.\\d+)+)'
minimum = "18.2"
below = "20"
install = "apt-get install -y nodejs"
"""


@pytest.fixture
def server(folders: Folders) -> Server:
    return load_server(folders.server(MANIFEST + NEED), folders.recipes)


def probe(host: FakeHost, server: Server) -> Probe:
    (result,) = Toolchains(host).check(server)
    return result


def test_met_need_has_a_version_and_no_fault(server: Server) -> None:
    met = probe(answering("v18.20.4\n"), server)
    assert (met.version, met.fault) == ("18.20.4", None)
    assert missing([met]) == []


def test_headers_are_not_installed(folders: Folders) -> None:
    """Regression: "Boost's headers is not installed"."""
    manifest = MANIFEST + NEED.replace('tool = "node"', 'tool = "Boost\'s headers"')
    met = probe(FakeHost(), load_server(folders.server(manifest), folders.recipes))
    assert met.fault == "Boost's headers are not installed"


@pytest.mark.parametrize(
    ("host", "fault"),
    [
        (FakeHost(), "node is not installed"),
        (answering("v18.20.4", exit_code=127), "node is not installed"),
        (answering("hello"), "node printed no version"),
        (answering("v18.1.9"), "node 18.1.9 is too old: expected at least 18.2"),
        (answering("v20.0.0"), "node 20.0.0 is too new: expected below 20"),
    ],
)
def test_unmet_need_has_a_fault(server: Server, host: FakeHost, fault: str) -> None:
    unmet = probe(host, server)
    assert unmet.fault == fault
    assert missing([unmet]) == [unmet]


def test_reads_version_from_standard_error_and_only_once(server: Server) -> None:
    assert probe(answering(stderr="v19.0.0"), server).fault is None
    host = answering("v18.20.4")
    toolchains = Toolchains(host)
    toolchains.check(server)
    toolchains.check(server)
    assert len(host.calls) == 1


@pytest.mark.parametrize(
    ("lesser", "greater"),
    [("1.9", "1.10"), ("1.22.9", "1.23"), ("17", "21.0.1"), ("3.11.7", "3.12.0rc1")],
)
def test_compares_versions_by_number(lesser: str, greater: str) -> None:
    assert version_key(lesser) < version_key(greater)


@pytest.mark.parametrize("same", ["1.22.0", "1.22rc1", "1.22-beta.3", "1.22+build.7"])
def test_ignores_trailing_zeros_and_suffixes(same: str) -> None:
    """Regression: 1.22 counted as older than 1.22.0, and 1.22rc1 as version 1."""
    assert version_key(same) == version_key("1.22")


def test_a_kept_output_is_not_probed_again(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "node").write_text("#!/bin/sh\n")
    (tmp_path / "node").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    cache = ProbeCache(tmp_path / "probes.json")
    first, second = answering(stdout="v18.20.4"), answering(exit_code=1)
    Toolchains(first, cache).probe_all([server])
    cache.save()
    (probe,) = Toolchains(second, ProbeCache(tmp_path / "probes.json")).check(server)
    assert probe == Toolchains(first).check(server)[0]


@pytest.mark.parametrize(
    ("printed", "version", "fault", "processes"),
    [
        (json.dumps(["v18.20.4"]), "18.20.4", None, 1),
        (json.dumps([None]), None, "node is not installed", 1),
        ("v18.20.4", "18.20.4", None, 2),  # no batch prints that
    ],
)
def test_probes_of_many_servers_are_one_process_or_run_one_by_one(
    server: Server, printed: str, version: str | None, fault: str | None, processes: int
) -> None:
    host = answering(printed)
    toolchains = Toolchains(host)
    toolchains.probe_all([server, server])
    (probe,) = toolchains.check(server)
    assert (probe.version, probe.fault, len(host.calls)) == (version, fault, processes)


SHIPPED = {server.name: server for server in load_catalog(find_root(None)).servers.values()}
SLOW = {  # tool -> a server that needs it, what its slow command prints, its cheap source
    "javac": ("java-quarkus", "javac 21.0.4", "release", 'JAVA_VERSION="21.0.4"'),
    "mvn": ("java-quarkus", "Apache Maven 3.9.9", "lib/maven-core-3.9.9.jar", ""),
    "npm": ("node-koa", "11.2.0", "package.json", '{\n  "version": "11.2.0",'),
    "erlc": ("erlang-mochiweb", "27", "releases/start_erl.data", "15.1 27"),
}


@pytest.mark.parametrize("tool", SLOW)
def test_a_slow_tool_runs_only_where_no_file_has_its_version(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, printed, file, text = SLOW[tool]
    (need,) = [need for need in SHIPPED[name].needs if need.tool == tool]
    program = tmp_path / "tool" / "bin" / ("erl" if tool == "erlc" else tool)
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\necho '{printed}'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    server = replace(SHIPPED[name], needs=(need,))

    def probed() -> Probe:
        done = subprocess.run(need.probe, capture_output=True, text=True, check=True)
        (result,) = Toolchains(answering(done.stdout + done.stderr)).check(server)
        return result

    slow = probed()
    assert (tmp_path / "ran").exists()
    (tmp_path / "ran").unlink()
    source = tmp_path / "tool" / file
    source.parent.mkdir(exist_ok=True)
    source.write_text(text)
    assert probed() == slow
    assert slow.fault is None
    assert not (tmp_path / "ran").exists()


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


def test_an_output_is_kept_until_it_is_old_or_its_program_or_search_path_changes(
    tmp_path: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = kept(tmp_path)
    assert cache.get(COMMAND) == "tool 1"
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{program.parent}{os.pathsep}/nowhere")
        assert cache.get(COMMAND) is None
    with monkeypatch.context() as patch:
        patch.setattr(toolchain, "KEPT_S", 0.0)
        assert ProbeCache(tmp_path / "home" / "probes.json").get(COMMAND) is None
    program.write_text("#!/bin/sh\necho a newer one\n")
    assert cache.get(COMMAND) is None


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
