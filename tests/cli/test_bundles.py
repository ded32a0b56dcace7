"""`deadheat export`, `deadheat import` and `deadheat report --from`."""

from pathlib import Path

import pytest

from deadheat import report
from deadheat.store import Store
from tests.cli.conftest import Deadheat
from tests.report.made import MadeRun, made_run
from tests.store.test_bundle import repacked

LABELS = (b"SEE      everything", b"         a web page")


@pytest.fixture
def bundle(run: MadeRun, deadheat: Deadheat, tmp_path: Path) -> Path:
    path = tmp_path / "run.deadheat"
    ended = deadheat("export", run.run_id[:-2], "-o", str(path))
    assert ended.code == 0
    assert f"deadheat report --from {path}" in ended.out
    return path


@pytest.mark.parametrize("format_", report.FORMATS)
def test_a_report_from_a_bundle_has_the_same_bytes(
    deadheat: Deadheat, bundle: Path, tmp_path: Path, format_: str
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for source, target in (((), here), (("--from", str(bundle)), there)):
        ended = deadheat("report", *source, "--format", format_, "-o", str(target))
        assert (ended.code, ended.err) == (0, "")
    commands = str(bundle).encode() if format_ == "terminal" else b""
    assert without_commands(here) == without_commands(there)
    assert commands in there.read_bytes()


def test_bug_a_bundle_of_an_empty_run_could_not_be_read(
    deadheat: Deadheat, home: Path, tmp_path: Path
) -> None:
    """The hint named a run of a file that was gone."""
    home.mkdir()
    run = made_run(home / "runs.sqlite")
    run.contender("a", fault="a did not build")
    run.end(why="budget spent")
    bundle = str(tmp_path / "run.deadheat")
    assert deadheat("export", run.run_id, "-o", bundle).code == 0
    assert "a did not build" in deadheat("report", "--from", bundle).out
    unknown = deadheat("report", "nosuch", "--from", bundle)
    assert unknown.hint.endswith(f"to list all: deadheat report --list --from {bundle}")
    assert run.run_id in deadheat("report", "--list", "--from", bundle).out


def without_commands(path: Path) -> list[bytes]:
    """The lines of a report but for the commands it prints, which name what they read.

    A long command stands below its label, a short one beside it.
    """
    lines = path.read_bytes().splitlines()
    return [line for line in lines if b"deadheat report " not in line and line not in LABELS]


def test_import_rejects_a_run_that_cannot_be_reported(
    deadheat: Deadheat, bundle: Path, tmp_path: Path
) -> None:
    plain = repacked(bundle, "UPDATE run SET protocol = '[]'")
    ended = deadheat("import", str(plain), "--store", str(tmp_path / "other.sqlite"))
    assert ended.code == 1
    assert "protocol cannot be read: " in ended.err
    assert not (tmp_path / "other.sqlite").exists()


def test_export_names_the_bundle_after_the_last_run(
    deadheat: Deadheat, run: MadeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert deadheat("export").code == 0
    with Store(run.store.path, read_only=True):
        assert (tmp_path / f"{run.run_id}.deadheat").is_file()
