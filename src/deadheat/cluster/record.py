"""The record of a cluster run: `cluster.json` in its folder, beside one bundle for each run."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from deadheat.errors import DeadheatError

FILE_NAME = "cluster.json"


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class HostRecord(_Frozen):
    """A host; two nodes of one address are one machine."""

    name: str
    address: str


class PairRecord(_Frozen):
    """A pair of hosts, and why it got no further run if it was lost."""

    number: int
    server: HostRecord
    load: HostRecord
    lost: str | None = None


class RayGate(_Frozen):
    """Ray's share of the CPUs of one host during a run, and the most that it may be."""

    role: str
    reading: float
    threshold: float

    @property
    def passed(self) -> bool:
        return self.reading <= self.threshold


class RunRecord(_Frozen):
    """One run: where, of which contenders, and its bundle in the folder, if it has one."""

    job: int
    attempt: int
    pair: int
    servers: tuple[str, ...]
    exit_code: int | None
    bundle: str | None
    error: str
    unmeasured: tuple[str, ...]
    gates: tuple[RayGate, ...]

    @property
    def counts(self) -> bool:
        """Whether its rates are ranked: Ray left the hosts alone."""
        return self.bundle is not None and all(gate.passed for gate in self.gates)


class ClusterRecord(_Frozen):
    """A whole cluster run. `state` is running, complete, interrupted or failed."""

    format: int = 1
    started_at: str
    state: str
    deadheat_version: str
    command: tuple[str, ...]
    servers: tuple[str, ...]
    shared: tuple[str, ...]
    margin: float
    confidence: float
    pairs: tuple[PairRecord, ...]
    left_over: tuple[HostRecord, ...] = ()
    runs: tuple[RunRecord, ...] = ()
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
        raise DeadheatError(
            f"{path}: {error.strerror}", "name the folder of a cluster run"
        ) from error
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"])) or "the document"
        raise DeadheatError(
            f"{path}: {place}: {fault['msg']}", "`deadheat cluster run` writes this file"
        ) from error
