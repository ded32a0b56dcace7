import datetime
import json
import sqlite3
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from deadheat.store import Store, StoreError
from deadheat.store.migrations import MIGRATIONS
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


def test_a_trial_is_kept_with_all_its_parts(store: Store) -> None:
    run_id, contender_id = begin(store)
    given = trial(run_id, contender_id)
    trial_id = store.add_trial(given)
    (row,) = store.rows("SELECT * FROM trial WHERE id = ?", trial_id)
    assert row["rate_per_s"] == 1000.0
    assert json.loads(row["command"]) == given.command
    assert zlib.decompress(row["stdout"]).decode() == given.stdout
    assert zlib.decompress(row["stderr"]).decode() == given.stderr
    (load,) = store.rows("SELECT rows FROM series WHERE name = 'load'")
    assert json.loads(zlib.decompress(load["rows"])) == given.series["load"]
    (error,) = store.rows("SELECT class, requests FROM error")
    assert error == {"class": "reset", "requests": 3}
    assert_every_trial_is_whole(store)


def test_a_run_begins_and_ends(store: Store) -> None:
    run_id, contender_id = begin(store)
    assert store.rows("SELECT state, ended_at FROM run") == [{"state": "running", "ended_at": None}]
    store.update_contender(contender_id, fault="it broke")
    instance_id = store.add_instance(
        contender_id=contender_id, invocation=1, at_s=0.5, command=["plain", "80"]
    )
    store.update_instance(instance_id, behavior={"status": 200}, log_tail="")
    store.end_run(run_id, "complete", {"why": "settled"})
    (run,) = store.rows("SELECT * FROM run")
    assert (run["state"], json.loads(run["conclusion"])) == ("complete", {"why": "settled"})
    assert run["started_at"] <= run["ended_at"]
    assert store.rows("SELECT fault FROM contender") == [{"fault": "it broke"}]
    (start,) = store.rows("SELECT command, behavior FROM instance")
    assert (start["command"], start["behavior"]) == ('["plain", "80"]', '{"status": 200}')


def test_a_build_is_kept_once(store: Store) -> None:
    values = {"key": "abc", "built_at": "2026", "elapsed_s": 1.0, "toolchains": {"go": "1.26"}}
    values |= {"files": {}, "log": "", "server": "go-gin"}
    assert store.add_build(**values) == store.add_build(**values)
    assert store.add_build(**values | {"key": "def"}) == 2


def test_a_part_that_cannot_be_kept_leaves_nothing_of_its_trial(store: Store) -> None:
    run_id, contender_id = begin(store)
    with pytest.raises(StoreError, match="refuses a row: FOREIGN KEY constraint failed"):
        store.add_trial(trial(run_id, contender_id + 1))
    assert [count(store, table) for table in ("trial", *PARTS)] == [0, 0, 0, 0, 0]


def test_every_trial_told_of_outlives_a_kill(path: Path) -> None:
    process = writer(path)
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(20)]
    process.kill()
    process.communicate()
    with Store(path, read_only=True) as store:
        kept = [row["id"] for row in store.rows("SELECT id FROM trial ORDER BY id")]
        assert kept[: len(told)] == told
        assert_every_trial_is_whole(store)


def test_a_reader_works_while_a_run_writes(path: Path) -> None:
    process = writer(path)
    assert process.stdout is not None
    try:
        told = int(process.stdout.readline())
        with Store(path, read_only=True) as store:
            seen = count(store, "trial")
            assert seen >= told
            while int(process.stdout.readline()) < seen + 20:
                pass
            assert count(store, "trial") >= seen + 20
            process.kill()
            process.wait()  # the parts are counted one after the other
            assert_every_trial_is_whole(store)
    finally:
        process.kill()
        process.communicate()


def test_a_full_disk_is_told_and_what_was_kept_stays(path: Path) -> None:
    stdout, stderr = (process := writer(path, "300000")).communicate()
    assert process.returncode == 1
    assert f"the store {path} cannot be written" in stderr
    assert "what was measured stays" in stderr
    told = [int(line) for line in stdout.split()]
    with Store(path) as store:
        kept = [row["id"] for row in store.rows("SELECT id FROM trial ORDER BY id")]
        assert len(told) > 1
        assert kept == told
        assert_every_trial_is_whole(store)


def test_a_new_store_may_be_opened_by_many_at_once(path: Path) -> None:
    """Regression: the second found the tables of the first there already, and failed."""
    openers, failed = 4, []
    barrier = threading.Barrier(openers)

    def open_it() -> None:
        barrier.wait()
        try:
            Store(path).close()
        except StoreError as error:
            failed.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(openers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def refusal(path: Path, *, read_only: bool = False) -> str:
    with pytest.raises(StoreError) as caught:
        Store(path, read_only=read_only)
    assert caught.value.hint == "name another with --store FILE or DEADHEAT_HOME"
    return str(caught.value)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_no_database(tmp_path: Path, read_only: bool) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be looked at as one\n" * 20)
    assert "file is not a database" in refusal(path, read_only=read_only)
    assert path.read_text().startswith("not a database")


@pytest.mark.parametrize("read_only", [False, True])
def test_the_database_of_another_program_is_left_as_it_is(tmp_path: Path, read_only: bool) -> None:
    """Regression: deadheat's tables were put into it."""
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmark (url TEXT)")
    other.close()
    before = path.read_bytes()
    assert "it is the database of another program" in refusal(path, read_only=read_only)
    assert path.read_bytes() == before


@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_of_a_newer_deadheat(path: Path, read_only: bool) -> None:
    Store(path).close()
    with sqlite3.connect(path) as newer:
        newer.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    newer.close()
    assert f"its schema is {len(MIGRATIONS) + 1}" in refusal(path, read_only=read_only)


def test_nothing_to_read(tmp_path: Path) -> None:
    assert "there is no such file" in refusal(tmp_path / "runs.sqlite", read_only=True)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert f"cannot be written: {file}: File exists" in refusal(file / "runs.sqlite")
    assert "cannot be written: unable to open" in refusal(tmp_path)


def test_a_path_with_marks_that_mean_something_in_a_uri(tmp_path: Path) -> None:
    """Regression: what stood behind a `?` or a `#` was no part of the name a reader opened."""
    path = tmp_path / "what?#%20.sqlite"
    Store(path).close()
    with Store(path, read_only=True) as store:
        assert store.rows("SELECT * FROM run") == []


def test_a_reader_cannot_write(path: Path) -> None:
    Store(path).close()
    with Store(path, read_only=True) as store, pytest.raises(StoreError, match="readonly"):
        begin(store)


def test_a_query_that_fails_names_the_store(store: Store, path: Path) -> None:
    with pytest.raises(StoreError, match=f"the store {path} cannot be read: no such table"):
        store.rows("SELECT * FROM bookmark")


def test_two_runs_of_one_second_that_draw_the_same_id_get_one_each(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = iter(["aaaa", "aaaa", "aaaa", "bbbb"])
    monkeypatch.setattr("deadheat.store.store.secrets.token_hex", lambda _: next(drawn))
    monkeypatch.setattr("deadheat.store.store.datetime.datetime", StandingClock)
    first, second = begin(store)[0], begin(store)[0]
    assert first.endswith("-aaaa")
    assert second.endswith("-bbbb")
