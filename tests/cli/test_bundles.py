"""`deadheat export`, `deadheat import` and `deadheat report --from`."""

from pathlib import Path

import pytest

from deadheat import report
from deadheat.store import Store
from tests.cli.conftest import Deadheat
from tests.report.made import MadeRun
from tests.store.test_bundle import repacked


@pytest.fixture
def bundle(run: MadeRun, deadheat: Deadheat, tmp_path: Path) -> Path:
    path = tmp_path / "run.deadheat"
    ended = deadheat("export", run.run_id[:-2], "-o", str(path))
    assert ended.code == 0
    assert f"deadheat report --from {path}" in ended.out
    return path


@pytest.mark.parametrize("format_", report.FORMATS)
def test_a_report_from_a_bundle_is_the_same_to_the_byte(
    deadheat: Deadheat, bundle: Path, tmp_path: Path, format_: str
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for source, target in (((), here), (("--from", str(bundle)), there)):
        ended = deadheat("report", *source, "--format", format_, "-o", str(target))
        assert (ended.code, ended.err) == (0, "")
    assert here.read_bytes() == there.read_bytes()


def test_an_imported_run_is_reported_as_foreign(
    deadheat: Deadheat, bundle: Path, run: MadeRun, tmp_path: Path
) -> None:
    store = str(tmp_path / "other.sqlite")
    ended = deadheat("import", str(bundle), "--store", store)
    assert (ended.code, ended.out.split()[:2]) == (0, ["imported", f"{run.run_id}:"])
    told = deadheat("report", run.run_id, "--store", store).out
    assert "imported from run.deadheat: measured elsewhere" in told


def test_what_no_report_can_be_made_of_is_not_imported(
    deadheat: Deadheat, bundle: Path, tmp_path: Path
) -> None:
    plain = repacked(bundle, "UPDATE run SET protocol = '[]'")
    ended = deadheat("import", str(plain), "--store", str(tmp_path / "other.sqlite"))
    assert ended.code == 1
    assert "is not as deadheat writes one" in ended.err
    assert not (tmp_path / "other.sqlite").exists()


def test_a_bundle_of_the_last_run_is_named_after_it(
    deadheat: Deadheat, run: MadeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert deadheat("export").code == 0
    with Store(run.store.path, read_only=True):
        assert (tmp_path / f"{run.run_id}.deadheat").is_file()
