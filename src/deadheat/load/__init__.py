"""Load generators: one interface, and one file for each generator."""

from deadheat.errors import DeadheatError
from deadheat.host import Host, HostError, ProcessSpec
from deadheat.load.ab import Ab
from deadheat.load.base import Generator, GeneratorFailed, GeneratorMissing, LoadResult, LoadSpec
from deadheat.load.engine import Engine, find_engine
from deadheat.load.wrk import Wrk

__all__ = [
    "Engine",
    "Generator",
    "GeneratorFailed",
    "GeneratorMissing",
    "LoadResult",
    "LoadSpec",
    "find_engine",
    "generator",
    "generator_version",
]

_VERSION_TIMEOUT_S = 10.0


def generator(name: str) -> Generator:
    """The load generator of that name. Raises `DeadheatError`."""
    known: dict[str, type[Engine] | type[Wrk] | type[Ab]] = {"engine": Engine, "wrk": Wrk, "ab": Ab}
    if name not in known:
        raise DeadheatError(
            f"--generator: no load generator {name!r}", f"available: {', '.join(known)}"
        )
    return known[name]()


def generator_version(chosen: Generator, host: Host) -> str:
    """Ask the load host for the generator's version. Raises `GeneratorMissing`."""
    try:
        completed = host.run(ProcessSpec(chosen.version_command()), _VERSION_TIMEOUT_S)
    except HostError as error:
        raise GeneratorMissing(
            f"the load generator {chosen.name} cannot be run: {error}", chosen.install_hint()
        ) from error
    return chosen.version(completed)
