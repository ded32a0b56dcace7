"""What is kept of a large run's trials: it gives the same report, and never stands for others."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from deadheat import report
from deadheat.cli import cli
from deadheat.report.model import facts, kept, slice_fit
from deadheat.report.model.kept import kept_path
from deadheat.report.model.load import load_view
from deadheat.report.model.series import merged
from deadheat.store import Store, slices
from deadheat.store.bundle import open_bundle
from deadheat.store.listing import run_ids
from tests.report.made import SETTLE, MadeRun, histogram, made_run

RESULTS = Path(__file__).parents[2] / "docs" / "results"
BUNDLES = {"make-run": "json", "race-24-a": "json", "race-24-b": "terminal"}


@pytest.fixture(autouse=True)
def keeps_all_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DEADHEAT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(kept, "TRIALS_MIN", 1)


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    run = made_run(tmp_path / "runs.sqlite", protocol=SETTLE)
    run.race({"a": 9000}, invocations=2, blocks=2)
    slower = {"service_us": histogram(6000, 2000)}
    run.race({"b": 8000}, invocations=2, blocks=2, histograms=slower)
    run.end()
    return run


@pytest.fixture
def merges(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many histograms each call merged."""
    sizes: list[int] = []

    def counting(texts: Sequence[str]) -> object:
        sizes.append(len(texts))
        return merged(texts)

    monkeypatch.setattr(facts, "merged", counting)
    return sizes


def shown(store: Store, run_id: str, format_name: str = "json") -> str:
    return report.write(load_view(store, run_id, whole=format_name == "json"), format_name)


def entries(run_id: str) -> dict[str, list[str]]:
    read: dict[str, list[str]] = json.loads(kept_path(run_id).read_text())["entries"]
    return read


def unexpected(*_: object) -> None:
    pytest.fail("worked out again")


@pytest.mark.parametrize(("bundle", "format_name"), BUNDLES.items())
def test_a_report_of_what_is_kept_is_that_of_the_trials(
    bundle: str, format_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_bundle(RESULTS / f"{bundle}.deadheat") as store:
        (run_id,) = (row["id"] for row in store.rows("SELECT id FROM run"))
        monkeypatch.setattr(kept, "TRIALS_MIN", 10**9)
        expected = shown(store, run_id, format_name)
        assert not kept_path(run_id).exists()
        monkeypatch.setattr(kept, "TRIALS_MIN", 1)
        assert shown(store, run_id, format_name) == expected
        assert kept_path(run_id).exists()

        monkeypatch.setattr(slice_fit, "_worked_out", unexpected)
        monkeypatch.setattr(kept.Kept, "put", unexpected)
        assert shown(store, run_id, format_name) == expected


def test_the_first_report_of_an_imported_run_works_nothing_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, path = RESULTS / "make-run.deadheat", tmp_path / "runs.sqlite"
    assert CliRunner().invoke(cli, ["import", str(bundle), "--store", str(path)]).exit_code == 0

    monkeypatch.setattr(slice_fit, "_worked_out", unexpected)
    with Store(path, read_only=True) as store:
        (run_id,) = run_ids(store)
        assert shown(store, run_id, "terminal")


def test_the_second_report_merges_nothing(run: MadeRun, merges: list[int]) -> None:
    first = shown(run.store, run.run_id)
    assert merges == [4, 4]
    merges.clear()
    assert shown(run.store, run.run_id) == first
    assert merges == [1, 1]


def test_a_changed_trial_is_read_again(run: MadeRun, merges: list[int]) -> None:
    before = shown(run.store, run.run_id)
    merges.clear()
    with run.store._commit() as connection:
        connection.execute(
            "UPDATE histogram SET hdr_v2_base64 = ? WHERE trial_id = 1", (histogram(6000, 5000),)
        )
    assert shown(run.store, run.run_id) != before
    assert merges == [4, 1]


@pytest.mark.parametrize("swaps", [True, False])
def test_a_changed_entry_is_made_again(run: MadeRun, swaps: bool) -> None:
    """One with another text, or that of another key."""
    before, path = shown(run.store, run.run_id), kept_path(run.run_id)
    values = json.loads(kept_before := path.read_text())
    first, second = values["entries"].values()
    changed = [second, first] if swaps else [[seal, histogram(7, 7)] for seal, _ in (first, second)]
    values["entries"] = dict(zip(values["entries"], changed, strict=True))
    path.write_text(json.dumps(values))
    assert shown(run.store, run.run_id) == before
    assert path.read_text() == kept_before


@pytest.mark.parametrize("text", ["", "[]", "{", '{"code": 1}', '{"entries": []}', "\0"])
def test_a_damaged_file_is_made_again(run: MadeRun, text: str) -> None:
    before, path = shown(run.store, run.run_id), kept_path(run.run_id)
    path.write_text(text)
    assert shown(run.store, run.run_id) == before
    assert len(entries(run.run_id)) == 2


def test_another_version_of_the_code_makes_it_again(
    run: MadeRun, merges: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = shown(run.store, run.run_id)
    merges.clear()
    monkeypatch.setattr(kept, "code_digest", lambda: "other")
    assert shown(run.store, run.run_id) == before
    assert merges == [4, 4]
    assert json.loads(kept_path(run.run_id).read_text())["code"] == "other"


def test_bug_moved_code_no_longer_made_what_is_kept_outdated() -> None:
    """A pattern that names no file left the code behind it out of the digest."""
    package = Path(kept.__file__).parents[2]
    matched = [{*package.glob(pattern)} for pattern in kept.CODE]
    assert all(matched)
    seen = set().union(*matched)
    assert Path(slices.__file__) in seen, "it makes columns of what is stored"
    assert {*package.glob("stats/**/*.py")} <= seen, "models are in folders of their own"


@pytest.mark.parametrize(("ends", "trials_min"), [(False, 1), (True, 9)])
def test_nothing_is_kept_of_a_run_that_goes_on_or_is_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: bool, trials_min: int
) -> None:
    monkeypatch.setattr(kept, "TRIALS_MIN", trials_min)
    run = made_run(tmp_path / "runs.sqlite", protocol=SETTLE)
    run.race({"a": 9000, "b": 8000}, invocations=2, blocks=2)
    if ends:
        run.end()
    shown(run.store, run.run_id)
    assert not kept_path(run.run_id).parent.exists()


def test_a_home_that_cannot_be_written_is_no_error(run: MadeRun) -> None:
    kept_path(run.run_id).parent.parent.write_text("a file")
    assert shown(run.store, run.run_id)


def test_a_foreign_run_id_names_no_other_file() -> None:
    assert kept_path("../../x").parent == kept_path("y").parent
