"""The record of a cluster run: `cluster.json` in its folder, beside one bundle for each run."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from deadheat import __version__
from deadheat.errors import DeadheatError

FILE_NAME = "cluster.json"
RAY_CPU_SHARE_MAX = 0.01  # as for steal


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ClusterHost(_Record):
    """A host of the cluster; two of one address are one machine."""

    name: str
    address: str


class HostPair(_Record):
    """A server host and a load host, numbered from 1; `lost` says why it gets no further run."""

    number: int
    server: ClusterHost
    load: ClusterHost
    lost: str | None = None

    @property
    def is_one_host(self) -> bool:
        """Whether both roles are on one machine, as in a run without `--server-host`."""
        return self.server.address == self.load.address


class ClusterRun(_Record):
    """One run: where, of which contenders, and its bundle in the folder, if it has one.

    `ray_cpu` is Ray's share of the CPUs of each host that could be read, by its role: server, load,
    or both.
    """

    job: int
    attempt: int
    pair: int
    servers: tuple[str, ...]
    exit_code: int | None
    bundle: str | None
    error: str
    ray_cpu: dict[str, float]

    @property
    def counts(self) -> bool:
        """Whether its rates are ranked: Ray left the hosts alone."""
        return self.bundle is not None and not self.ray_was_busy

    @property
    def ray_was_busy(self) -> bool:
        return any(share > RAY_CPU_SHARE_MAX for share in self.ray_cpu.values())


class ClusterRecord(_Record):
    """A whole cluster run. `state` is running, complete, interrupted or failed.

    `words` are options of `deadheat run` for every run; `together` is how many servers race in
    one, besides the shared ones.
    """

    format: int = 1
    started_at: str
    state: str = "running"
    deadheat_version: str = __version__
    command: tuple[str, ...]
    words: tuple[str, ...] = ()
    together: int
    servers: tuple[str, ...]
    shared: tuple[str, ...]
    margin: float
    confidence: float
    pairs: tuple[HostPair, ...]
    left_over: tuple[ClusterHost, ...] = ()
    runs: tuple[ClusterRun, ...] = ()
    given_up: tuple[str, ...] = ()


def write_record(folder: Path, record: ClusterRecord) -> None:
    """Replace the record as a whole, so that a reader never sees half of one."""
    part = folder / f".{FILE_NAME}"
    part.write_text(record.model_dump_json(indent=2) + "\n", encoding="utf-8")
    part.replace(folder / FILE_NAME)


def read_record(folder: Path) -> ClusterRecord:
    """Raises `DeadheatError` if the folder has no readable record."""
    path = folder / FILE_NAME
    try:
        return ClusterRecord.model_validate_json(path.read_bytes())
    except OSError as error:
        fault = error.strerror
    except ValidationError as error:
        first = error.errors()[0]
        fault = ": ".join([*map(str, first["loc"]), first["msg"]])
    raise DeadheatError(f"{path}: {fault}", "name a folder that `deadheat cluster run` wrote")
