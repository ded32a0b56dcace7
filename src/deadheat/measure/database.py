"""`Database`: PostgreSQL in a cluster of deadheat's own, for workloads that need one."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from deadheat.errors import DeadheatError, LinkLost
from deadheat.host import Completed, Host, HostError, ProcessSpec
from deadheat.load import LoadSpec
from deadheat.workload import Workload

ADMIN, USER = "admin", "deadheat"
ADDRESS = "127.0.0.1"
READY_S = 30.0
STEP_S = 60.0
STOP_S = 10.0
ASK_INTERVAL_S = 0.05
PACKAGE = "postgresql"
# Debian keeps the programs of the server out of PATH; the newest version comes last.
FIND = """
folder=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
test -x "$folder/postgres" || folder=$(dirname "$(command -v postgres)") 2>/dev/null
test -x "$folder/postgres" && echo "$folder" && id -u
"""
# Nothing survives a run, so nothing has to reach a disk; and nothing may run beside a request.
SETTINGS = {
    "listen_addresses": ADDRESS,
    "unix_socket_directories": "",
    "max_connections": "5000",  # up to 6 instances of each server, each with a pool
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "jit": "off",
}
# PostgreSQL refuses to run as root. In a separate user namespace it has another number.
AS_OTHER_USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000")


class DatabaseMissing(DeadheatError):
    """PostgreSQL is not installed on the server's host."""


@dataclass(frozen=True, slots=True)
class _Programs:
    folder: str
    prefix: tuple[str, ...]  # of those that reject root

    def command(self, name: str, *words: str) -> tuple[str, ...]:
        return (f"{self.folder}/{name}", *words)


class Database:
    """Starts PostgreSQL when a workload first needs it, and again if it has died.

    It is a process of the server's host and on its CPUs. `cpus` are those; the cluster is a folder
    in `folder`, which `close` removes. `place` names another machine in messages: ` on HOST`.
    """

    def __init__(
        self, host: Host, folder: Path, cpus: tuple[int, ...], logs: Path, place: str = ""
    ) -> None:
        self._host = host
        self._folder = folder
        self._cpus = cpus
        self._logs = logs
        self._place = place
        self._programs: _Programs | None = None
        self._cluster: Path | None = None
        self._port = 0
        self._process: str | None = None
        self._seeded: set[str] = set()  # the names of the workloads
        self._done: set[tuple[str, ...]] = set()  # commands of `_once`

    def environment(self, workload: Workload | None) -> dict[str, str]:
        """What a server of a workload gets: DATABASE_URL, of a database that runs and is seeded.

        Raises `DatabaseMissing`, or `DeadheatError` with the last lines of its log.
        """
        if workload is None or workload.database is None:
            return {}
        self.revive()
        if workload.name not in self._seeded:
            self._seed(workload.name, workload.database.seed)
        url = f"postgresql://{USER}@{ADDRESS}:{self._port}/{_database_of(workload.name)}"
        return {"DATABASE_URL": url}

    def revive(self) -> None:
        """Start it unless it runs. A cluster that crashed recovers, on the same port."""
        if self._process is not None and self._host.alive(self._process) is None:
            return
        programs = self._programs = self._programs or self._find()
        cluster = self._cluster = self._cluster or self._create(programs)
        settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
        words = ("-D", str(cluster), f"--port={self._port}", *settings)
        command = (*programs.prefix, *programs.command("postgres", *words))
        self._process = self._host.start(ProcessSpec(command, cpus=self._cpus), str(self._log_path))
        self._await_ready(programs)

    def has_seeded(self, workload: str) -> bool:
        """Whether a workload of this name has its database here."""
        return workload in self._seeded

    @property
    def process(self) -> str | None:
        """The id of its process tree; None if nothing has needed it yet."""
        return self._process

    def cpu_s(self) -> float | None:
        """Its CPU time since its start; None if it does not run."""
        if self._process is None or self._host.alive(self._process) is not None:
            return None
        return self._host.cpu_s(self._process)

    def death(self) -> str | None:
        """How it died; None if it runs, or if nothing has needed it yet."""
        ended = self._host.alive(self._process) if self._process is not None else None
        return f"PostgreSQL died ({ended.how})" if ended is not None else None

    def close(self) -> None:
        """Stop it and remove its cluster. After a lost link, the agent there does both."""
        with suppress(LinkLost):
            if self._process is not None:
                self._host.stop(self._process, "SIGINT", STOP_S)
            if self._cluster is not None:
                self._host.run(ProcessSpec(("rm", "-rf", str(self._cluster))), STEP_S)
        self._process = self._cluster = None

    def _find(self) -> _Programs:
        words = self._host.run(ProcessSpec(("sh", "-c", FIND)), STEP_S).stdout.split()
        if len(words) != 2:
            raise DatabaseMissing(
                f"no PostgreSQL{self._place}: no file /usr/lib/postgresql/*/bin/postgres and none "
                "in PATH",
                f"install it{self._place}: apt-get install -y {PACKAGE}",
            )
        folder, user_number = words
        return _Programs(folder, AS_OTHER_USER if user_number == "0" else ())

    def _create(self, programs: _Programs) -> Path:
        self._port = self._host.free_port()
        cluster = self._folder / f"postgresql-{self._port}"
        self._host.run(ProcessSpec(("rm", "-rf", str(cluster))), STEP_S)
        options = ("--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        words = ("-D", str(cluster), f"--username={ADMIN}", *options)
        self._do(*programs.prefix, *programs.command("initdb", *words))
        return cluster

    def _await_ready(self, programs: _Programs) -> None:
        begun_s = self._host.now_s()
        command = programs.command("pg_isready", "-q", "-h", ADDRESS, "-p", str(self._port))
        while self._host.now_s() - begun_s < READY_S:
            if self._host.run(ProcessSpec(command), STEP_S).exit_code == 0:
                return
            if self.death() is not None:
                break
            self._host.sleep(ASK_INTERVAL_S)
        log = self._host.read_tail(str(self._log_path), 1000).strip().splitlines()[-5:]
        raise DeadheatError("\n  | ".join(["PostgreSQL did not become ready", *log]))

    def _seed(self, workload: str, seed: str) -> None:
        """A database of the workload's name, filled by a user who owns that and nothing else."""
        programs = self._programs
        if programs is None:
            raise AssertionError("revive() has found them")
        at = ("-h", ADDRESS, "-p", str(self._port))
        self._once(*programs.command("createuser", *at, "-U", ADMIN, USER))
        name = _database_of(workload)
        self._once(*programs.command("createdb", *at, "-U", ADMIN, "-O", USER, name))
        quiet = ("-X", "-q", "-v", "ON_ERROR_STOP=1")
        self._do(*programs.command("psql", *at, "-U", USER, *quiet, "-c", seed, name))
        self._seeded.add(workload)

    def _once(self, *command: str) -> None:
        """A step that is not repeated if a later one fails: the seed may be wrong."""
        if command not in self._done:
            self._do(*command)
            self._done.add(command)

    def _do(self, *command: str) -> Completed:
        try:
            done = self._host.run(ProcessSpec(command), STEP_S)
        except HostError as error:
            raise DeadheatError(f"PostgreSQL cannot be set up: {error}") from error
        if done.exit_code != 0:
            lines = (done.stderr or done.stdout).strip().splitlines()[-5:]
            name = next(word for word in command if "/" in word).rpartition("/")[2]
            raise DeadheatError("\n  | ".join([f"PostgreSQL cannot be set up: {name}", *lines]))
        return done

    @property
    def _log_path(self) -> Path:
        return self._logs / f"postgresql-{self._port}.log"


def _database_of(workload: str) -> str:
    return workload.replace("-", "_")


@dataclass(frozen=True, slots=True)
class DatabaseTime:
    """What a database used while a server was loaded, and whether it died.

    It began with a load. Its database is None if the load's workload has none, or if it cannot
    start again: then `failed` says why.
    """

    database: Database | None
    cpu_s: float = 0.0
    failed: str | None = None

    @classmethod
    def begin(cls, database: Database | None, spec: LoadSpec) -> Self:
        """Revives a database that died since."""
        if database is None or not spec.workload or not database.has_seeded(spec.workload["name"]):
            return cls(None)
        try:
            database.revive()
        except DeadheatError as error:
            return cls(None, failed=str(error))
        return cls(database, database.cpu_s() or 0.0)

    def used_s(self) -> float | None:
        """The CPU time of the database since; None without one, or if it died."""
        cpu_s = self.database.cpu_s() if self.database is not None else None
        return None if cpu_s is None else cpu_s - self.cpu_s

    def fault(self) -> str | None:
        """How the database died since, or failed; None if it runs, or if there is none."""
        return self.database.death() if self.database is not None else self.failed
