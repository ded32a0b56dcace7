import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from deadheat.build.builder import Builder, BuildFailed
from deadheat.catalog import Probe, Server, load_server
from deadheat.host import Completed, HostError, ProcessSpec
from deadheat.host.fake import FakeHost
from deadheat.host.local import LocalHost
from tests.build.made import MANIFEST, made_server


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return made_server(tmp_path)


def probes(server: Server, version: str = "1.0") -> list[Probe]:
    return [Probe(server.needs[0], version, None)]


def making(
    step: Callable[[FakeHost, ProcessSpec], Completed] = lambda *_: Completed(0, "ok\n", "", 2, 1),
) -> FakeHost:
    host = FakeHost()
    host.on_run(lambda command: command[0] == "maker", step)
    return host


def steps_run(host: FakeHost) -> list[ProcessSpec]:
    return [spec for name, spec in host.calls if name == "run"]


def test_steps_run_in_a_copy_of_the_folder(server: Server, tmp_path: Path) -> None:
    host = making()
    built = Builder(host, tmp_path / "builds").build(server, probes(server))
    first, second = steps_run(host)
    assert first.command == ("maker", "first", str(built.path))
    assert second.command == ("maker", "second")
    assert first.cwd == second.cwd == str(built.path)
    assert first.env == {"OUT": f"{built.path}/out"}
    assert sorted(path.name for path in built.path.iterdir()) == ["main.c", "server.toml"]
    assert (built.elapsed_s, built.cached, built.toolchains) == (4, False, {"maker": "1.0"})
    assert sorted(built.files) == ["main.c", "server.toml"]
    assert built.log == f"$ maker first {built.path}\nok\n$ maker second\nok\n"
    assert built.path.with_suffix(".log").read_text() == built.log


def test_finished_build_is_reused(server: Server, tmp_path: Path) -> None:
    host = making()
    builder = Builder(host, tmp_path / "builds")
    assert builder.find(server, probes(server)) is None
    built = builder.build(server, probes(server))
    again = Builder(host, tmp_path / "builds").build(server, probes(server))
    assert len(steps_run(host)) == 2
    assert (again.cached, again.path, again.log) == (True, built.path, built.log)
    assert again.elapsed_s == built.elapsed_s


@pytest.mark.parametrize(
    ("file", "before", "after", "is_rebuilt"),
    [
        ("main.c", "int main", "int other", True),
        ("server.toml", '"second"', '"third"', True),
        ("server.toml", "ready_s = 5", "ready_s = 6", False),
        ("node_modules/left-over", "", "more", False),
    ],
)
def test_a_change_of_what_the_build_reads_is_built_anew(
    server: Server, tmp_path: Path, file: str, before: str, after: str, is_rebuilt: bool
) -> None:
    builder = Builder(making(), tmp_path / "builds")
    builder.build(server, probes(server))
    path = server.folder / file
    path.write_text(path.read_text().replace(before, after))
    changed = load_server(server.folder, tmp_path / "recipes")
    assert builder.build(changed, probes(changed)).cached is not is_rebuilt
    assert not builder.build(changed, probes(changed, "1.1")).cached, "another toolchain"


def test_deleted_build_is_rebuilt(server: Server, tmp_path: Path) -> None:
    """Regression: the record of a build was enough to reuse it."""
    builder = Builder(making(), tmp_path / "builds")
    shutil.rmtree(builder.build(server, probes(server)).path)
    assert builder.find(server, probes(server)) is None
    assert builder.build(server, probes(server)).path.is_dir()


def failure(server: Server, host: FakeHost | LocalHost, folder: Path) -> BuildFailed:
    builder = Builder(host, folder)
    with pytest.raises(BuildFailed) as caught:
        builder.build(server, probes(server))
    assert builder.find(server, probes(server)) is None
    return caught.value


def test_failed_step_shows_its_last_lines_and_the_log(server: Server, tmp_path: Path) -> None:
    output = "".join(f"line {number}\n" for number in range(40))
    host = making(lambda *_: Completed(2, output, "undefined: gin\n", 1, 1))
    failed = failure(server, host, tmp_path / "builds")
    assert len(steps_run(host)) == 1
    head, *tail = str(failed).splitlines()
    assert head.startswith("made: build step `maker first ")
    assert head.endswith("` ended with 2")
    assert tail == [*(f"  | line {number}" for number in range(26, 40)), "  | undefined: gin"]
    assert failed.hint is not None
    log = Path(failed.hint.removeprefix("the complete log is in "))
    assert "line 0\n" in log.read_text()


def test_a_step_without_end_or_beyond_a_limit_is_stopped(server: Server, tmp_path: Path) -> None:
    host = making(lambda *_: Completed(0, "resolving\n", "", 10**6, 1))
    failed = failure(server, host, tmp_path / "builds")
    assert "was stopped after 900 s\n  | $ maker first" in str(failed)
    assert host.now_s() == 900
    with pytest.raises(BuildFailed, match="was stopped after 1 s"):
        Builder(making(), tmp_path / "builds", step_s=1.0).build(server, probes(server))
    limit = "memory_limit: 2.10 GiB, limit 2.00 GiB"
    host = making(lambda *_: Completed(-9, "", "", 2, 1, limit=limit))
    assert f"was stopped: {limit}\n" in str(failure(server, host, tmp_path / "builds"))


def test_reports_a_missing_program_and_a_lost_host(server: Server, tmp_path: Path) -> None:
    failed = failure(server, FakeHost(), tmp_path / "builds")
    assert str(failed) == "made: build step cannot run: no such program: maker"

    def gone(*_: object) -> Completed:
        raise HostError("the agent is gone")

    assert "the agent is gone" in str(failure(server, making(gone), tmp_path / "builds"))


def test_reports_full_disk(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: this was a traceback."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "copytree", full)
    failed = failure(server, making(), tmp_path / "builds")
    assert "made: cannot build in" in str(failed)
    assert "No space left on device" in str(failed)
    assert failed.hint == "free space there, or set DEADHEAT_HOME to another folder"


def test_real_build_failure_shows_its_output(tmp_path: Path) -> None:
    failing = '["sh", "-c", "echo compiling; echo broken >&2; exit 3"]'
    manifest = MANIFEST.replace('["maker", "second"]', failing).replace(
        '"maker", "first"', '"true"'
    )
    server = made_server(tmp_path, manifest=manifest)
    with LocalHost() as host:
        failed = failure(server, host, tmp_path / "builds")
    assert "ended with 3\n" in str(failed)
    assert str(failed).endswith("  | compiling\n  | broken")
