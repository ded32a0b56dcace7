"""Commands that read or change a store: errors, bundles, and `deadheat clean`."""

import socket
import sqlite3
from pathlib import Path

import pytest

from deadheat import report
from deadheat.build.leftovers import in_use
from deadheat.store import Store
from deadheat.store.listing import run_ids
from tests.cli.conftest import Deadheat
from tests.report.made import MadeRun, made_run
from tests.store.test_bundle import repacked

READERS = {
    "report": (),
    "report --list": ("--list",),
    "export": (),
    "compare": ("a", "b"),
    "serve": (),
}


@pytest.mark.parametrize("command", READERS)
def test_every_reader_reports_a_missing_store(deadheat: Deadheat, home: Path, command: str) -> None:
    ended = deadheat(command.split()[0], *READERS[command])
    assert ended.code == 1
    assert " does not exist" in ended.err
    assert ended.hint.startswith("measure with deadheat run")
    assert not (home / "runs.sqlite").exists()


def test_rejects_an_empty_file_as_store(deadheat: Deadheat, tmp_path: Path) -> None:
    """Regression: the error was one of the database."""
    (tmp_path / "empty.sqlite").touch()
    ended = deadheat("report", "--store", str(tmp_path / "empty.sqlite"))
    assert ended.code == 1
    assert "empty.sqlite is empty: no run is stored in it" in ended.err


@pytest.mark.parametrize("command", READERS)
def test_every_reader_rejects_a_database_of_another_program(
    deadheat: Deadheat, tmp_path: Path, command: str
) -> None:
    """Regression: `serve` reported it only on its pages."""
    place = tmp_path / "other.sqlite"
    with sqlite3.connect(place) as other:
        other.execute("CREATE TABLE mine (a)")
    ended = deadheat(command.split()[0], *READERS[command], "--store", str(place))
    assert ended.code == 1
    assert "it is the database of another program" in ended.err


@pytest.mark.parametrize(
    "words",
    [
        "export --output STORE",
        "report --output STORE",
        "run hello --protocol brief --output STORE",
        "regress --base good --comment STORE -- {port}",
        "regress --base good --junit STORE -- {port}",
    ],
)
def test_output_does_not_replace_the_store(deadheat: Deadheat, run: MadeRun, words: str) -> None:
    """Regression: the store and all its runs were lost."""
    run.store.settle()
    place, before = str(run.store.path), run.store.path.read_bytes()
    ended = deadheat(*words.replace("STORE", place).split())
    assert ended.code == 2
    assert f" {place}: the command also uses this file" in ended.err
    assert ended.err.split()[1] in words
    assert run.store.path.read_bytes() == before


def test_compare_rejects_the_same_contender_twice(deadheat: Deadheat, run: MadeRun) -> None:
    """Regression: a traceback."""
    ended = deadheat("compare", "alpha", "alpha", "--in", run.run_id)
    assert ended.code == 2
    assert "alpha" in ended.err


def test_calibrate_rejects_another_kind_of_run(deadheat: Deadheat, run: MadeRun) -> None:
    """Regression: a traceback."""
    ended = deadheat("calibrate", "--from", run.run_id)
    assert ended.code == 2
    assert f"error: --from: run {run.run_id} is not a complete race of 0 copies" in ended.err


def test_serve_reports_a_port_in_use_with_a_hint(deadheat: Deadheat, run: MadeRun) -> None:
    """Regression: uvicorn reported it without a hint, after the address was printed."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = deadheat("serve", "--port", str(taken.getsockname()[1]))
    assert ended.code == 2
    assert "Address already in use" in ended.err
    assert ended.hint == "choose another port or address"


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


def test_bug_export_named_its_file_without_quotes(
    deadheat: Deadheat, run: MadeRun, tmp_path: Path
) -> None:
    path = tmp_path / "a run.deadheat"
    assert f"deadheat report --from '{path}'" in deadheat("export", "-o", str(path)).out


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
