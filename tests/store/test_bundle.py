"""Exporting, checking and importing bundles."""

import lzma
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from deadheat.store import Store, StoreError
from deadheat.store.bundle import export_run, import_runs, open_bundle
from deadheat.store.copying import BELONGS
from tests.report.made import MadeRun, made_run


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    """The second of two runs in one store, so that its ids differ from those in a new store."""
    first = made_run(tmp_path / "runs.sqlite")
    first.race({"alpha": 5000, "beta": 4000}, blocks=2)
    first.end()
    run = MadeRun(first.store)
    run.race({"alpha": 9000, "beta": 3000}, blocks=4)
    run.end()
    return run


@pytest.fixture
def bundle(run: MadeRun, tmp_path: Path) -> Path:
    export_run(run.store, run.run_id, tmp_path / "run.deadheat")
    return tmp_path / "run.deadheat"


def repacked(bundle: Path, *statements: str) -> Path:
    """The bundle after `statements` on its database."""
    plain = bundle.with_suffix(".sqlite")
    plain.write_bytes(lzma.decompress(bundle.read_bytes()))
    with closing(sqlite3.connect(plain)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    path = bundle.with_suffix(".changed")
    path.write_bytes(lzma.compress(plain.read_bytes(), preset=0))
    return path


def test_copies_every_table(run: MadeRun) -> None:
    tables = run.store.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
    assert {row["name"] for row in tables} == set(BELONGS)


def test_bundle_has_only_the_exported_run(run: MadeRun, bundle: Path) -> None:
    with open_bundle(bundle) as single:
        assert [row["id"] for row in single.rows("SELECT id FROM run")] == [run.run_id]
        query = "SELECT rate_per_s, at_s, stdout FROM trial WHERE run_id = ? ORDER BY id"
        assert single.rows(query, run.run_id) == run.store.rows(query, run.run_id)


def test_imports_a_run_once_and_marks_it(run: MadeRun, bundle: Path, tmp_path: Path) -> None:
    with open_bundle(bundle) as foreign, Store(tmp_path / "other.sqlite") as other:
        assert import_runs(other, foreign, bundle.name) == [run.run_id]
        (row,) = other.rows("SELECT json_extract(conclusion, '$.imported.from') AS name FROM run")
        assert row["name"] == "run.deadheat"
        with pytest.raises(StoreError, match="already"):
            import_runs(other, foreign, bundle.name)
        assert len(other.rows("SELECT 1 FROM run")) == 1


def test_rejects_a_store_as_bundle(run: MadeRun) -> None:
    """A store that is being written has more than one file."""
    with pytest.raises(StoreError, match="readable bundle"), open_bundle(run.store.path):
        pass


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("CREATE VIEW spy AS SELECT * FROM run", "its tables are not those of a store"),
        (
            "CREATE TRIGGER spy AFTER INSERT ON run BEGIN DELETE FROM run; END",
            "its tables are not those of a store",
        ),
        ("DELETE FROM contender", "table .* refers to a missing row"),
        ("PRAGMA user_version = 99", "its schema is 99"),
        ("DROP TABLE trial", "another program"),
    ],
)
def test_rejects_an_unsound_database(bundle: Path, statement: str, reason: str) -> None:
    plain = repacked(bundle, "PRAGMA foreign_keys = OFF", statement)
    with pytest.raises(StoreError, match=reason), open_bundle(plain):
        pass


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"\xfd7zXZ\x00 and no more", b"SQLite format 3\x00" + b"x" * 4096]
)
def test_rejects_other_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "what"
    path.write_bytes(content)
    with pytest.raises(StoreError), open_bundle(path):
        pass


def test_rejects_a_truncated_bundle(bundle: Path) -> None:
    bundle.write_bytes(bundle.read_bytes()[:-200])
    with pytest.raises(StoreError, match="readable bundle"), open_bundle(bundle):
        pass


def test_names_a_missing_bundle(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"), open_bundle(tmp_path / "none"):
        pass
