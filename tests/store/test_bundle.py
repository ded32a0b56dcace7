"""Exporting, checking and importing bundles."""

import lzma
import os
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from deadheat import report
from deadheat.errors import StoreError
from deadheat.host.doctor import host_key
from deadheat.report.model.load import load_view
from deadheat.report.model.runs import lines, list_runs
from deadheat.store import Store, read_run
from deadheat.store.bundle import export_run, import_runs, open_bundle
from deadheat.store.copying import BELONGS
from tests.report.made import FINGERPRINT, MadeRun, made_run


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


def take(bundle: Path, store: Store) -> list[str]:
    with open_bundle(bundle) as foreign:
        return import_runs(store, foreign, bundle.name)


def calibrated(store: Store, run_id: str, key: str) -> object:
    calibration = read_run(store, run_id).calibration(key)
    return calibration and calibration.result.as_stored()


def test_copies_every_table(run: MadeRun) -> None:
    tables = run.store.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
    assert {row["name"] for row in tables} == set(BELONGS)


def test_bundle_has_only_the_exported_run(run: MadeRun, bundle: Path) -> None:
    with open_bundle(bundle) as single:
        assert [row["id"] for row in single.rows("SELECT id FROM run")] == [run.run_id]
        query = "SELECT rate_per_s, at_s, stdout FROM trial WHERE run_id = ? ORDER BY id"
        assert single.rows(query, run.run_id) == run.store.rows(query, run.run_id)


def test_imports_a_run_once_and_marks_it(run: MadeRun, bundle: Path, tmp_path: Path) -> None:
    with Store(tmp_path / "other.sqlite") as other:
        assert take(bundle, other) == [run.run_id]
        (row,) = other.rows("SELECT json_extract(conclusion, '$.imported.bundle') AS name FROM run")
        assert row["name"] == "run.deadheat"
        with pytest.raises(StoreError, match="already"):
            take(bundle, other)
        assert len(other.rows("SELECT 1 FROM run")) == 1


def test_an_imported_bundle_does_not_change_the_calibration_of_local_runs(
    run: MadeRun, tmp_path: Path
) -> None:
    """Its calibrations were copied, and the newest of the store was quoted."""
    (server,) = (h for h in read_run(run.store, run.run_id).hosts if h.role == "server")
    key = host_key(server.fingerprint)
    run.store.add_calibration(key, FINGERPRINT, {"pairs": 666})
    export_run(run.store, run.run_id, tmp_path / "run.deadheat")
    local = made_run(tmp_path / "local.sqlite")
    local.race({"alpha": 5000, "beta": 4000}, blocks=2)
    local.end()
    local.store.add_calibration(key, FINGERPRINT, {"pairs": 1})
    take(tmp_path / "run.deadheat", local.store)
    assert calibrated(local.store, local.run_id, key) == {"pairs": 1}
    assert calibrated(local.store, run.run_id, key) == {"pairs": 666}


def test_an_exported_import_keeps_its_calibration(run: MadeRun, tmp_path: Path) -> None:
    run.store.add_calibration("there", FINGERPRINT, {"pairs": 666})
    export_run(run.store, run.run_id, tmp_path / "run.deadheat")
    with Store(tmp_path / "other.sqlite") as other:
        other.add_calibration("there", FINGERPRINT, {"pairs": 1})
        take(tmp_path / "run.deadheat", other)
        export_run(other, run.run_id, tmp_path / "again.deadheat")
    with open_bundle(tmp_path / "again.deadheat") as again:
        assert calibrated(again, run.run_id, "there") == {"pairs": 666}


def test_an_imported_build_does_not_stand_in_for_a_local_one(run: MadeRun, tmp_path: Path) -> None:
    """A local run took a build of the same server and key from the bundle."""
    build = {"server": "alpha", "key": "k", "elapsed_s": 1.0, "toolchains": {}, "files": {}}
    foreign_id = run.store.add_build(**build, built_at="2026-01-01T00:00:00", log="theirs")
    (contender, *_) = read_run(run.store, run.run_id).contenders
    run.store.update_contender(contender.id, build_id=foreign_id)
    export_run(run.store, run.run_id, tmp_path / "run.deadheat")
    with Store(tmp_path / "local.sqlite") as local:
        take(tmp_path / "run.deadheat", local)
        local_id = local.add_build(**build, built_at="2026-01-02T00:00:00", log="mine")
        assert local_id == local.add_build(**build, built_at="2026-01-03T00:00:00", log="later")
        assert [build.log for build in read_run(local, run.run_id).builds.values()] == ["theirs"]
        (mine,) = local.rows("SELECT log FROM build WHERE id = ?", local_id)
        assert mine["log"] == "mine"


def test_the_list_of_runs_marks_imported_ones(run: MadeRun, bundle: Path, tmp_path: Path) -> None:
    local = made_run(tmp_path / "local.sqlite")
    local.end()
    take(bundle, local.store)
    listed = lines(list_runs(local.store), names={}).splitlines()
    marked = {line.split()[0]: "imported" in line for line in listed}
    assert marked == {local.run_id: False, run.run_id: True}


def test_a_bundle_of_50_000_calibrations_does_not_hold_the_store(
    bundle: Path, tmp_path: Path
) -> None:
    """Each was looked up among all the others: quadratic, and a race could not store its trials."""
    crowded = repacked(
        bundle,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)"
        " INSERT INTO calibration (at, host_key, fingerprint, result)"
        " SELECT '2026', 'machine-' || (i % 100), '{}', '{}' FROM n",
    )
    with Store(tmp_path / "other.sqlite") as other:
        steps = 0

        def count() -> int:
            nonlocal steps
            steps += 1
            return 0

        other._connection.set_progress_handler(count, 1000)
        take(crowded, other)
        (row,) = other.rows("SELECT count(*) AS calibrations FROM calibration")
    assert row["calibrations"] == 100  # the newest of each machine: no report quotes another
    assert steps < 100


@pytest.mark.parametrize("run_id", ["../../etc/passwd", "\x1b[31mred", "20261120-130405-a1b2x", ""])
def test_rejects_a_malformed_run_id(run: MadeRun, bundle: Path, run_id: str) -> None:
    """`deadheat export` uses the id as the name of a file."""
    changed = repacked(
        bundle,
        *(f"UPDATE {table} SET {column} = '{run_id}'" for table, column in
          (("run", "id"), ("host", "run_id"), ("contender", "run_id"), ("trial", "run_id"))),
    )  # fmt: skip
    with pytest.raises(StoreError, match="is not one of deadheat's"), open_bundle(changed):
        pass


def test_rejects_a_row_that_refers_to_another_run(
    run: MadeRun, bundle: Path, tmp_path: Path
) -> None:
    changed = repacked(
        bundle,
        "INSERT INTO run SELECT '20200101-000000-0000', started_at, ended_at, state, protocol,"
        " command, seed, deadheat_version, generator_version, writer, conclusion FROM run",
        "UPDATE trial SET run_id = '20200101-000000-0000'",
    )
    with (
        Store(tmp_path / "other.sqlite") as other,
        pytest.raises(StoreError, match="refers to another run"),
    ):
        take(changed, other)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (zlib.compress(b"[" + b"[]," * 5_000_000 + b"[]]"), "values"),
        (zlib.compress(b"[" * 100_000), "nested too deeply"),
        (zlib.compress(bytes(100_000_000)), "more than"),
        (b"not zlib", "damaged"),
    ],
)
def test_a_bomb_names_its_run_and_field(
    run: MadeRun, bundle: Path, content: bytes, reason: str
) -> None:
    """97 KB of a series took 3.5 GB; `RecursionError` and `zlib.error` ended in tracebacks."""
    changed = repacked(
        bundle,
        "DELETE FROM series",
        f"INSERT INTO series SELECT min(id), 'slices', x'{content.hex()}' FROM trial",
    )
    with open_bundle(changed) as foreign, pytest.raises(StoreError) as raised:
        report.write(load_view(foreign, run.run_id), "terminal")
    assert f"run {run.run_id}: series slices of trial 1 cannot be read: it" in str(raised.value)
    assert reason in str(raised.value)


@pytest.mark.parametrize("command", ["5", "[1]"])
@pytest.mark.parametrize(
    ("table", "field"),
    [("run", "command"), ("instance", "command of instance 1"), ("trial", "command of trial 1")],
)
def test_bug_a_command_that_is_no_list_of_words_was_a_traceback(
    run: MadeRun, bundle: Path, table: str, field: str, command: str
) -> None:
    changed = repacked(bundle, f"UPDATE {table} SET command = '{command}'")
    with open_bundle(changed) as foreign, pytest.raises(StoreError) as raised:
        assert [trial.command for trial in read_run(foreign, run.run_id).trials]
    fault = f"run {run.run_id}: {field} cannot be read: expected a list of words"
    assert str(raised.value) == fault


@pytest.mark.parametrize("column", ["command", "manifest"])
def test_bug_a_damaged_row_of_a_run_with_a_password_ended_an_export_in_a_traceback(
    tmp_path: Path, column: str
) -> None:
    words = ["deadheat", "run", "--header", "Authorization: Bearer abcdefgh12345678"]
    secret = made_run(tmp_path / "runs.sqlite", command=words)
    secret.race({"alpha": 5000}, blocks=1)
    table = "instance" if column == "command" else "contender"
    with secret.store._connection as connection:
        connection.execute(f"UPDATE {table} SET {column} = '['")
    with pytest.raises(StoreError, match=f"{column} of {table} 1 cannot be read"):
        export_run(secret.store, secret.run_id, tmp_path / "run.deadheat")


@pytest.mark.parametrize(
    ("table", "column", "field"),
    [
        ("run", "protocol", "protocol"),
        ("run", "conclusion", "conclusion"),
        ("contender", "manifest", "manifest of contender"),
        ("host", "fingerprint", "fingerprint of a host"),
        ("trial", "result", "result of trial"),
        ("trial", "stdout", "stdout of trial"),
        ("histogram", "hdr_v2_base64", "service_us of trials"),
    ],
)
def test_a_damaged_column_names_its_run_and_field(
    run: MadeRun, bundle: Path, table: str, column: str, field: str
) -> None:
    value = "x'00'" if column == "stdout" else "'" + "[" * 100_000 + "'"
    changed = repacked(
        bundle,
        "DELETE FROM histogram" if column == "result" else "SELECT 1",
        "INSERT OR REPLACE INTO histogram SELECT id, 'service_us', 'x' FROM trial"
        if table == "histogram"
        else "SELECT 1",
        f"UPDATE {table} SET {column} = {value}",
    )
    with open_bundle(changed) as foreign, pytest.raises(StoreError) as raised:
        load_view(foreign, run.run_id, whole=True)
    assert f"run {run.run_id}: " in str(raised.value)
    assert field in str(raised.value)


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"\xfd7zXZ\x00 and no more", b"SQLite format 3\x00" + b"x" * 4096, None],
)
def test_rejects_a_file_that_is_no_bundle(
    run: MadeRun, bundle: Path, content: bytes | None
) -> None:
    """A store is none: one that is being written has more than one file."""
    bundle.write_bytes(bundle.read_bytes()[:-200] if content is None else content)
    for path in (bundle, run.store.path):
        with pytest.raises(StoreError, match="is not a readable bundle"), open_bundle(path):
            pass
    bundle.unlink()
    with pytest.raises(StoreError, match="No such file"), open_bundle(bundle):
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
        ("DROP TABLE trial", "its tables are not those of a store"),
        ("PRAGMA application_id = 0", "another program"),
    ],
)
def test_rejects_an_unsound_database(bundle: Path, statement: str, reason: str) -> None:
    plain = repacked(bundle, "PRAGMA foreign_keys = OFF", statement)
    with pytest.raises(StoreError, match=reason), open_bundle(plain):
        pass


@pytest.mark.parametrize(
    ("pages", "reason"),
    [
        (1 << 31, "unpacks to more than 4 GiB"),
        (1 << 16, "nearly all of it is zeros"),
        (1, "more than the 4,096 bytes that it announces"),
        (1 << 8, "shorter than it announces"),
    ],
)
def test_a_wrong_page_count_ends_the_unpacking(
    bundle: Path, tmp_path: Path, pages: int, reason: str
) -> None:
    """Regression: zeros unpacked to 4 GiB, though the first page says how long a bundle is."""
    plain = bytearray(lzma.decompress(bundle.read_bytes()))
    plain[28:32] = pages.to_bytes(4, "big")
    if pages == 1 << 16:
        plain += bytes(pages * 4096 - len(plain))
    if pages == 1 << 8:
        plain = plain[: pages * 4096 // 2]
    changed = tmp_path / "changed.deadheat"
    changed.write_bytes(lzma.compress(bytes(plain), preset=0))
    with pytest.raises(StoreError, match=reason), open_bundle(changed):
        pass


def test_bug_a_disk_that_filled_during_an_export_named_a_temporary_store(
    run: MadeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullStore(Store):
        def __init__(self, path: Path) -> None:
            super().__init__(path)
            self._connection.execute("PRAGMA max_page_count = 1")  # the file cannot grow

    with run.store._connection as connection:
        connection.execute("UPDATE trial SET stdout = randomblob(100000)")
    monkeypatch.setattr("deadheat.store.bundle.Store", FullStore)
    bundle = tmp_path / "run.deadheat"
    with pytest.raises(StoreError) as raised:
        export_run(run.store, run.run_id, bundle)
    full = f"the bundle {bundle} cannot be written: database or disk is full"
    assert (str(raised.value), raised.value.hint) == (full, "free disk space, or name another file")


def test_bug_an_export_replaced_what_is_no_file(run: MadeRun, tmp_path: Path) -> None:
    """As root, `export -o /dev/null` made a file of the device."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(StoreError, match="cannot be written: expected a regular file"):
        export_run(run.store, run.run_id, pipe)
    assert pipe.is_fifo()
