import datetime
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deadheat.errors import StoreError
from deadheat.store import Store
from deadheat.store.schema import VERSION
from tests.store.made import begin, trial

PARTS = ("histogram", "series", "error", "gate")
HERE = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "runs.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as opened:
        yield opened


class StandingClock(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> "StandingClock":
        return cls(2026, 11, 20, 12, 0, 0, tzinfo=tz)


def writer(path: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.store.writer", str(path), *arguments],
        cwd=HERE,
        env={"PYTHONPATH": f"{HERE / 'src'}:{HERE}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def count(store: Store, table: str) -> int:
    return int(store.rows(f"SELECT count(*) AS n FROM {table}")[0]["n"])


def assert_every_trial_is_whole(store: Store) -> None:
    assert store.rows("PRAGMA integrity_check") == [{"integrity_check": "ok"}]
    trials = count(store, "trial")
    assert [count(store, table) for table in PARTS] == [trials, 2 * trials, trials, trials]


def test_bug_two_runs_that_finished_one_build_together_refused_a_row(
    store: Store, path: Path
) -> None:
    """Both looked for it before one of them added it."""
    values = {"server": "go-gin", "key": "abc", "built_at": "2026", "elapsed_s": 1.0}
    values |= {"toolchains": {}, "files": {}, "log": ""}
    ids: list[int] = []
    with Store(path) as other:

        def add_first(statement: str) -> None:
            if statement.startswith("BEGIN") and not ids:
                ids.append(other.add_build(**values))

        store._connection.set_trace_callback(add_first)
        ids.append(store.add_build(**values))
    assert ids[0] == ids[1]


def test_bug_a_store_that_could_not_settle_ended_in_a_traceback(store: Store, path: Path) -> None:
    begin(store)
    store._connection.execute("PRAGMA busy_timeout = 0")
    with Store(path, read_only=True) as reader:
        assert count(reader, "run") == 1
        with pytest.raises(StoreError, match=f"the store {path} cannot be written: "):
            store.settle()


def test_stores_nothing_of_a_trial_with_a_rejected_row(store: Store) -> None:
    run_id, contender_id = begin(store)
    with pytest.raises(StoreError, match="refuses a row: FOREIGN KEY constraint failed"):
        store.add_trial(trial(run_id, contender_id + 1))
    assert [count(store, table) for table in ("trial", *PARTS)] == [0, 0, 0, 0, 0]


def test_committed_trials_survive_a_kill(path: Path) -> None:
    process = writer(path)
    assert process.stdout is not None
    committed = [int(process.stdout.readline()) for _ in range(20)]
    process.kill()
    process.communicate()
    with Store(path, read_only=True) as store:
        stored = [row["id"] for row in store.rows("SELECT id FROM trial ORDER BY id")]
        assert stored[: len(committed)] == committed
        assert_every_trial_is_whole(store)


def test_reads_while_a_run_writes(path: Path) -> None:
    process = writer(path)
    assert process.stdout is not None
    try:
        committed = int(process.stdout.readline())
        with Store(path, read_only=True) as store:
            trials = count(store, "trial")
            assert trials >= committed
            while int(process.stdout.readline()) < trials + 20:
                pass
            assert count(store, "trial") >= trials + 20
            process.kill()
            process.wait()  # the tables are counted one after the other
            assert_every_trial_is_whole(store)
    finally:
        process.kill()
        process.communicate()


def test_reports_a_full_disk_and_keeps_stored_trials(path: Path) -> None:
    stdout, stderr = (process := writer(path, "300000")).communicate()
    assert process.returncode == 1
    assert f"the store {path} cannot be written" in stderr
    assert "what was measured stays" in stderr
    committed = [int(line) for line in stdout.split()]
    with Store(path) as store:
        stored = [row["id"] for row in store.rows("SELECT id FROM trial ORDER BY id")]
        assert len(committed) > 1
        assert stored == committed
        assert_every_trial_is_whole(store)


def test_several_openers_may_create_a_store(path: Path) -> None:
    """Regression: the second opener failed, because the tables existed already."""
    openers, errors = 4, []
    barrier = threading.Barrier(openers)

    def open_it() -> None:
        barrier.wait()
        try:
            Store(path).close()
        except StoreError as error:
            errors.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(openers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def refusal(path: Path, *, read_only: bool = False) -> str:
    with pytest.raises(StoreError) as caught:
        Store(path, read_only=read_only)
    assert caught.value.hint == "name another with --store FILE or DEADHEAT_HOME"
    return str(caught.value)


NOTES = b"not a database, but long enough to be looked at as one\n" * 20


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (None, "file is not a database"),
        ("application_id = 7", "it is the database of another program"),
        ("application_id = 0", "a store from before the first release"),
        (f"user_version = {VERSION + 1}", f"its schema is {VERSION + 1}"),
    ],
)
def test_rejects_what_is_no_store_of_this_version_and_leaves_it(
    path: Path, change: str | None, reason: str, read_only: bool
) -> None:
    """Regression: deadheat created its tables in the database of another program."""
    Store(path).close()
    if change is None:
        path.write_bytes(NOTES)
    else:
        with closing(sqlite3.connect(path)) as other:
            other.execute(f"PRAGMA {change}")
    before = path.read_bytes()
    assert reason in refusal(path, read_only=read_only)
    assert path.read_bytes() == before


def test_a_reader_rejects_a_file_that_is_empty_or_missing(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    assert "there is no such file" in refusal(path, read_only=True)
    path.write_bytes(b"")
    assert "it is empty" in refusal(path, read_only=True)


def test_rejects_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert f"cannot be written: {file}: File exists" in refusal(file / "runs.sqlite")
    assert "cannot be written: unable to open" in refusal(tmp_path)


def test_opens_a_path_with_uri_characters(tmp_path: Path) -> None:
    """Regression: a reader cut the file name at a `?` or a `#`."""
    path = tmp_path / "what?#%20.sqlite"
    Store(path).close()
    with Store(path, read_only=True) as store:
        assert store.rows("SELECT * FROM run") == []


def test_rejects_writes_of_a_reader(path: Path) -> None:
    Store(path).close()
    with Store(path, read_only=True) as store, pytest.raises(StoreError, match="readonly"):
        begin(store)


def test_failed_query_names_the_store(store: Store, path: Path) -> None:
    with pytest.raises(StoreError, match=f"the store {path} cannot be read: no such table"):
        store.rows("SELECT * FROM bookmark")


def test_runs_of_the_same_second_get_different_ids(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter(["aaaa", "aaaa", "aaaa", "bbbb"])
    monkeypatch.setattr("deadheat.store.store.secrets.token_hex", lambda _: next(drawn))
    monkeypatch.setattr("deadheat.store.store.datetime.datetime", StandingClock)
    first, second = begin(store)[0], begin(store)[0]
    assert first.endswith("-aaaa")
    assert second.endswith("-bbbb")


def read_only_folder(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a store in WAL mode, where no file can be created beside it."""
    copy = folder / "runs.sqlite"
    folder.mkdir()
    copy.write_bytes(store.path.read_bytes())
    (folder / "runs.sqlite-shm").mkdir()  # root can write anywhere, but not this file
    monkeypatch.setattr(os, "access", lambda path, mode: path != folder)
    return copy


def test_reads_a_wal_store_on_a_read_only_mount(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite said "unable to open database file": it creates files beside a store in WAL mode."""
    run_id, _ = begin(store)
    store.select("PRAGMA wal_checkpoint(TRUNCATE)")
    copy = read_only_folder(store, tmp_path / "mount", monkeypatch)
    with Store(copy, read_only=True) as mounted:
        assert [row["id"] for row in mounted.rows("SELECT id FROM run")] == [run_id]


def test_names_the_log_of_a_store_on_a_read_only_mount(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(store)
    copy = read_only_folder(store, tmp_path / "mount", monkeypatch)
    (copy.parent / "runs.sqlite-shm").rmdir()
    (copy.parent / "runs.sqlite-wal").write_bytes(b"rows")
    assert "copy runs.sqlite and runs.sqlite-wal to a folder" in refusal(copy, read_only=True)
