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


class Database:
    """Starts PostgreSQL when a workload first needs it, and again if it has died.

    It is a process of the server's host and on its CPUs. `cpus` are those; the cluster is a folder
    in `folder`, which `close` removes. `place` names another machine in messages: ` on HOST`.
    `process` is the id of its process tree, None if nothing has needed it yet; `seeded` has the
    names of the workloads whose databases are filled.
    """

    def __init__(
        self, host: Host, folder: Path, cpus: tuple[int, ...], logs: Path, place: str = ""
    ) -> None:
        self._host = host
        self._folder = folder
        self._cpus = cpus
        self._logs = logs
        self._place = place
        self._programs = ""  # their folder; empty until they are found
        self._prefix: tuple[str, ...] = ()  # of the programs that reject root
        self._cluster: Path | None = None
        self._port = 0
        self.process: str | None = None
        self.seeded: set[str] = set()
        self._done: set[tuple[str, ...]] = set()  # commands of `_once`

    def environment(self, workload: Workload | None) -> dict[str, str]:
        """What a server of a workload gets: DATABASE_URL, of a database that runs and is seeded.

        Raises `DatabaseMissing`, or `DeadheatError` with the last lines of its log.
        """
        if workload is None or workload.database is None:
            return {}
        self.revive()
        if workload.name not in self.seeded:
            self._seed(workload.name, workload.database.seed)
        url = f"postgresql://{USER}@{ADDRESS}:{self._port}/{_database_of(workload.name)}"
        return {"DATABASE_URL": url}

    def revive(self) -> None:
        """Start it unless it runs. A cluster that crashed recovers, on the same port."""
        if self.process is not None and self._host.alive(self.process) is None:
            return
        if not self._programs:
            self._find()
        if self._cluster is None:
            self._cluster = self._create()
        settings = [f"--{name}={value}" for name, value in SETTINGS.items()]
        words = ("-D", str(self._cluster), f"--port={self._port}", *settings)
        command = (*self._prefix, *self._command("postgres", *words))
        self.process = self._host.start(ProcessSpec(command, cpus=self._cpus), str(self._log_path))
        self._await_ready()

    def cpu_s(self) -> float | None:
        """Its CPU time since its start; None if it does not run."""
        if self.process is None or self._host.alive(self.process) is not None:
            return None
        return self._host.cpu_s(self.process)

    def death(self) -> str | None:
        """How it died; None if it runs, or if nothing has needed it yet."""
        ended = self._host.alive(self.process) if self.process is not None else None
        return f"PostgreSQL died ({ended.how})" if ended is not None else None

    def close(self) -> None:
        """Stop it and remove its cluster. After a lost link, the agent there does both."""
        with suppress(LinkLost):
            if self.process is not None:
                self._host.stop(self.process, "SIGINT", STOP_S)
            if self._cluster is not None:
                self._host.run(ProcessSpec(("rm", "-rf", str(self._cluster))), STEP_S)
        self.process = self._cluster = None

    def _find(self) -> None:
        words = self._host.run(ProcessSpec(("sh", "-c", FIND)), STEP_S).stdout.split()
        if len(words) != 2:
            raise DatabaseMissing(
                f"no PostgreSQL{self._place}: no file /usr/lib/postgresql/*/bin/postgres and none "
                "in PATH",
                f"install it{self._place}: apt-get install -y {PACKAGE}",
            )
        self._programs, user_number = words
        self._prefix = AS_OTHER_USER if user_number == "0" else ()

    def _command(self, name: str, *words: str) -> tuple[str, ...]:
        return (f"{self._programs}/{name}", *words)

    def _create(self) -> Path:
        self._port = self._host.free_port()
        cluster = self._folder / f"postgresql-{self._port}"
        self._host.run(ProcessSpec(("rm", "-rf", str(cluster))), STEP_S)
        options = ("--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        words = ("-D", str(cluster), f"--username={ADMIN}", *options)
        self._do(*self._prefix, *self._command("initdb", *words))
        return cluster

    def _await_ready(self) -> None:
        begun_s = self._host.now_s()
        command = self._command("pg_isready", "-q", "-h", ADDRESS, "-p", str(self._port))
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
        at = ("-h", ADDRESS, "-p", str(self._port))
        self._once(*self._command("createuser", *at, "-U", ADMIN, USER))
        name = _database_of(workload)
        self._once(*self._command("createdb", *at, "-U", ADMIN, "-O", USER, name))
        quiet = ("-X", "-q", "-v", "ON_ERROR_STOP=1")
        self._do(*self._command("psql", *at, "-U", USER, *quiet, "-c", seed, name))
        self.seeded.add(workload)

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
        if database is None or not spec.workload or spec.workload["name"] not in database.seeded:
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
