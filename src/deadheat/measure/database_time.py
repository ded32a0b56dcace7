"""`DatabaseTime`: what a database used while a server was loaded, and whether it died."""

from dataclasses import dataclass

from deadheat.errors import DeadheatError
from deadheat.load import LoadSpec
from deadheat.measure.database import Database
from deadheat.measure.world import World


@dataclass(frozen=True, slots=True)
class DatabaseTime:
    """Began with a load. Its database is None if the load's workload has none."""

    database: Database | None
    cpu_s: float = 0.0

    @classmethod
    def begin(cls, world: World, spec: LoadSpec) -> "DatabaseTime":
        """Revives a database that died since. Raises `DeadheatError` if it cannot start again."""
        database = world.database
        if database is None or not spec.workload or not database.has_seeded(spec.workload["name"]):
            return cls(None)
        database.revive()
        usage = database.usage()
        return cls(database, usage.cpu_s if usage is not None else 0.0)

    def used_s(self) -> float | None:
        """The CPU time of the database since; None without one, or if it died."""
        usage = self.database.usage() if self.database is not None else None
        return usage.cpu_s - self.cpu_s if usage is not None else None

    def fault(self) -> str | None:
        """How the database died since; None if it runs, or if there is none."""
        return self.database.death() if self.database is not None else None


def begin_or_fault(world: World, spec: LoadSpec) -> tuple[DatabaseTime, str | None]:
    """As `begin`; a database that cannot start again is a fault of the load."""
    try:
        return DatabaseTime.begin(world, spec), None
    except DeadheatError as error:
        return DatabaseTime(None), str(error)
