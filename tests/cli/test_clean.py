"""`deadheat clean` deletes what it showed, and nothing else."""

from pathlib import Path

import pytest

from deadheat.build.leftovers import in_use
from deadheat.store import Store
from deadheat.store.listing import run_ids
from tests.cli.conftest import Deadheat
from tests.report.made import MadeRun, made_run


@pytest.fixture
def full(home: Path) -> Path:
    """A home with a log, a build with its record, a revision and something else."""
    for name in ("logs/a-1.log", "builds/a/0123.json", "revisions/4567.done", "notes.txt"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(b"x" * (1 << 20))
    for folder in ("builds/a/0123/deep", "revisions/4567"):
        (home / folder).mkdir(parents=True)
        (home / folder / "file").write_bytes(b"x" * (1 << 20))
    return home


def files(home: Path) -> set[str]:
    return {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}


def test_deletes_logs_and_builds_and_shows_what_it_frees(deadheat: Deadheat, full: Path) -> None:
    ended = deadheat("clean", "--yes")
    assert ended.code == 0
    assert "logs           1 file         1.0 MiB" in ended.out
    assert "builds       2 builds         4.0 MiB" in ended.out
    assert files(full) == {"notes.txt"}
    assert deadheat("clean", "--yes").out.endswith("nothing to delete\n")


def test_deletes_only_what_is_named(deadheat: Deadheat, full: Path) -> None:
    deadheat("clean", "--logs", "--yes")
    assert "builds/a/0123.json" in files(full)
    assert "logs/a-1.log" not in files(full)


def test_does_not_follow_links(deadheat: Deadheat, full: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    (full / "builds/a/4321").symlink_to(outside)
    (full / "builds/b").symlink_to(outside)
    assert deadheat("clean", "--yes").code == 0
    assert (outside / "file").exists()


def test_deletes_nothing_while_another_process_works(deadheat: Deadheat, full: Path) -> None:
    before = files(full)
    with in_use(full / "logs"):
        ended = deadheat("clean", "--yes")
    assert ended.code == 1
    assert "another deadheat process uses the logs and builds" in ended.err
    assert files(full) == before


def test_deletes_old_runs_with_all_their_rows(deadheat: Deadheat, run: MadeRun, home: Path) -> None:
    younger = made_run(home / "runs.sqlite")
    younger.race({"gamma": 100})
    younger.end()
    with Store(home / "runs.sqlite") as store, store._connection as connection:
        connection.execute(
            "UPDATE run SET started_at = '2020-01-01T00:00:00+00:00' WHERE id = ?", (run.run_id,)
        )
    ended = deadheat("clean", "--runs-older-than", "30", "--yes")
    assert "runs            1 run" in ended.out
    with Store(home / "runs.sqlite", read_only=True) as store:
        assert run_ids(store) == [younger.run_id]
        for table in ("host", "contender", "trial"):
            rows = store.rows(f"SELECT DISTINCT run_id FROM {table}")
            assert [row["run_id"] for row in rows] == [younger.run_id]
        assert store.rows("PRAGMA foreign_key_check") == []
    assert deadheat("report").code == 0


def test_keeps_a_run_in_progress(deadheat: Deadheat, home: Path) -> None:
    home.mkdir()
    made_run(home / "runs.sqlite").contender("a")
    with Store(home / "runs.sqlite") as store, store._connection as connection:
        connection.execute("UPDATE run SET started_at = '2020-01-01T00:00:00+00:00'")
    assert "nothing to delete" in deadheat("clean", "--runs-older-than", "0", "--yes").out
