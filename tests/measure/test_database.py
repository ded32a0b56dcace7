"""The database of a workload: found, set up once, revived, removed."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from deadheat.errors import DeadheatError, LinkLost
from deadheat.host import Completed, Exited
from deadheat.host.fake import FakeHost, FakeServer
from deadheat.load import LoadResult, LoadSpec
from deadheat.measure.database import Database, DatabaseMissing, DatabaseTime
from deadheat.measure.trial import database_figures
from deadheat.workload import Workload

BIN = "/usr/lib/postgresql/15/bin"


def workload(name: str = "db") -> Workload:
    return Workload.model_validate(
        {
            "name": name,
            "about": "b",
            "database": {"engine": "postgresql", "seed": "seed of " + name},
            "requests": [{"path": "/db"}],
        }
    )


class DatabaseHost(FakeHost):
    """A host with PostgreSQL, of which some programs may fail."""

    def __init__(self, user: int = 1000, installed: bool = True) -> None:
        super().__init__()
        output = f"{BIN}\n{user}\n" if installed else ""
        self.failing: set[str] = set()
        self.on_run(lambda _: True, lambda _, spec: self._ended(spec.command))
        self.on_run(lambda command: command[0] == "sh", lambda *_: Completed(0, output, "", 0, 0))
        self.on_start(lambda _: True, lambda *_: FakeServer(answer=lambda _: b""))

    def _ended(self, command: Sequence[str]) -> Completed:
        failed = bool({word.rpartition("/")[2] for word in command} & self.failing)
        return Completed(int(failed), "", "its words\n" if failed else "", 0.1, 0.1)

    def programs(self) -> list[str]:
        """The names of the programs of PostgreSQL that ran or were started, in order."""
        commands = [spec.command for method, spec in self.calls if method in ("run", "start")]
        words = [word for command in commands for word in command]
        return [word.removeprefix(f"{BIN}/") for word in words if word.startswith(f"{BIN}/")]

    def started(self) -> list[Sequence[str]]:
        return [spec.command for method, spec in self.calls if method == "start"]


def database_on(host: FakeHost, folder: Path) -> Database:
    return Database(host, folder, (0,), folder)


def test_a_workload_without_a_database_starts_none(tmp_path: Path) -> None:
    host = DatabaseHost()
    database = database_on(host, tmp_path)
    assert database.environment(None) == {}
    plain = workload().model_copy(update={"database": None})
    assert database.environment(plain) == {}
    assert database.process is None
    assert host.calls == []


def test_is_set_up_once_and_seeded_for_each_workload(tmp_path: Path) -> None:
    host = DatabaseHost()
    database = database_on(host, tmp_path)
    url = database.environment(workload())["DATABASE_URL"]
    assert url.startswith("postgresql://deadheat@127.0.0.1:")
    assert url.endswith("/db")
    assert database.environment(workload()) == {"DATABASE_URL": url}
    assert database.environment(workload("other-db"))["DATABASE_URL"].endswith("/other_db")
    once = ["initdb", "postgres", "pg_isready", "createuser", "createdb", "psql"]
    assert host.programs() == [*once, "createdb", "psql"]
    (server,) = [spec for method, spec in host.calls if method == "start"]
    assert server.cpus == (0,)


def test_root_runs_it_as_another_user(tmp_path: Path) -> None:
    host = DatabaseHost(user=0)
    database_on(host, tmp_path).environment(workload())
    assert host.started()[0][:2] == ("unshare", "--user")


@pytest.mark.parametrize("place", ["", " on lab@far"])
def test_one_that_is_not_installed_names_the_package(tmp_path: Path, place: str) -> None:
    missing = Database(DatabaseHost(installed=False), tmp_path, (0,), tmp_path, place)
    with pytest.raises(DatabaseMissing, match=f"no PostgreSQL{place}: ") as caught:
        missing.environment(workload())
    assert caught.value.hint == f"install it{place}: apt-get install -y postgresql"


@pytest.mark.parametrize("program", ["initdb", "createuser", "createdb", "psql"])
def test_a_failed_step_names_its_program_and_last_words(tmp_path: Path, program: str) -> None:
    host = DatabaseHost()
    host.failing = {program}
    with pytest.raises(DeadheatError, match=f"set up: {program}\n  \\| its words"):
        database_on(host, tmp_path).environment(workload())


def test_bug_after_a_wrong_seed_the_next_server_failed_by_a_user_who_exists(tmp_path: Path) -> None:
    host = DatabaseHost()
    host.failing = {"psql"}
    database = database_on(host, tmp_path)
    for _ in range(2):
        with pytest.raises(DeadheatError, match="set up: psql"):
            database.environment(workload())
    assert host.programs().count("createuser") == host.programs().count("createdb") == 1


def test_one_that_died_starts_again_on_its_port_with_its_data(tmp_path: Path) -> None:
    host = DatabaseHost()
    database = database_on(host, tmp_path)
    url = database.environment(workload())
    assert database.death() is None
    assert database.cpu_s() is not None
    host.stop(database.process or "", "SIGKILL", 0)
    assert "PostgreSQL died" in (database.death() or "")
    assert database.cpu_s() is None
    assert database.environment(workload()) == url
    assert database.death() is None
    assert host.started()[0] == host.started()[1]
    assert host.programs().count("initdb") == host.programs().count("psql") == 1


def test_close_stops_it_and_removes_the_cluster(tmp_path: Path) -> None:
    host = DatabaseHost()
    database = database_on(host, tmp_path)
    database.environment(workload())
    process = database.process or ""
    database.close()
    assert host.alive(process) is not None
    assert host.calls[-1][1].command[:2] == ("rm", "-rf")
    assert str(host.calls[-1][1].command[2]).startswith(str(tmp_path / "postgresql-"))
    database.close()


def test_closing_after_a_lost_link_hides_no_other_error(tmp_path: Path) -> None:
    """The agent there ends it; a second `LinkLost` would take the place of the run's own."""

    class CutHost(DatabaseHost):
        def stop(self, process: str, signal: str, deadline_s: float) -> Exited:
            raise LinkLost("lab@far")

    database = database_on(CutHost(), tmp_path)
    database.environment(workload())
    database.close()
    assert database.process is None


def load_of(name: str | None) -> LoadSpec:
    """A load with a workload; None: of hello, which each control gets."""
    sent = workload(name).for_engine() if name is not None else None
    return LoadSpec("http://127.0.0.1:1/", connections=1, duration_s=1, workload=sent)


def test_bug_the_memory_of_the_database_was_read_around_each_slice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of hundreds of processes took half a CPU, which counted as other programs'."""
    host = DatabaseHost()
    database = database_on(host, tmp_path)
    database.environment(workload())
    monkeypatch.setattr(host, "usage", lambda _: pytest.fail("its memory was read"))
    monkeypatch.setattr(host, "cpu_s", lambda _: 2.0)
    assert DatabaseTime.begin(database, load_of("db")).used_s() == 0.0


def test_a_database_that_dies_during_a_load_is_its_fault_and_the_next_load_revives_it(
    tmp_path: Path,
) -> None:
    host = DatabaseHost()
    database = database_on(host, tmp_path)
    database.environment(workload())
    first = DatabaseTime.begin(database, load_of("db"))
    assert first.fault() is None
    assert first.used_s() == 0
    host.stop(database.process or "", "SIGKILL", 0)
    assert "PostgreSQL died" in (first.fault() or "")
    assert first.used_s() is None
    assert DatabaseTime.begin(database, load_of("db")).fault() is None


def test_a_database_that_cannot_start_again_is_a_fault_of_the_load(tmp_path: Path) -> None:
    host = DatabaseHost()
    database = database_on(host, tmp_path)
    database.environment(workload())
    host.stop(database.process or "", "SIGKILL", 0)
    host.failing = {"pg_isready"}
    fault = DatabaseTime.begin(database, load_of("db")).fault()
    assert (fault or "").startswith("PostgreSQL did not become ready")


def test_controls_and_other_workloads_have_no_database_time(tmp_path: Path) -> None:
    host = DatabaseHost()
    database = database_on(host, tmp_path)
    assert DatabaseTime.begin(database, load_of("db")).used_s() is None
    database.environment(workload())
    assert DatabaseTime.begin(database, load_of("db")).used_s() == 0
    assert DatabaseTime.begin(database, load_of("other")).used_s() is None
    assert DatabaseTime.begin(database, load_of(None)).used_s() is None
    host.stop(database.process or "", "SIGKILL", 0)
    assert DatabaseTime.begin(database, load_of("other")).fault() is None
    assert DatabaseTime.begin(None, load_of("db")).fault() is None


def test_the_figures_of_a_trial_have_the_databases_time_beside_the_servers() -> None:
    result = LoadResult("engine", "0", 500.0, 1000, 2.0, errors={}, service_us={})
    assert database_figures(0.5, result) == {"database_cpu_us_per_request": 500.0}
    assert database_figures(None, result) == {}
    assert database_figures(0.5, None) == {}
