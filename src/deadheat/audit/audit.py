"""An audit: the case, its defects, the use of the machine, and a second replay to compare with."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from deadheat.audit.beside import Agreement, between_replays
from deadheat.audit.case import Case, Defect
from deadheat.audit.defects.all import find_defects
from deadheat.audit.dstat import Second, seconds_of
from deadheat.audit.placement import Placement, placement_of
from deadheat.audit.replay import Replay, Trial
from deadheat.protocol.figures import Figures
from deadheat.store import Store


@dataclass(frozen=True, slots=True)
class MachineUse:
    """CPU use and memory during the fastest repetition of a row at a level."""

    row: str
    connections: int
    seconds: tuple[Second, ...]
    memory_peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class Audit:
    """The results, which every format shows."""

    case: Case
    defects: tuple[Defect, ...]
    machine_use: tuple[MachineUse, ...]
    against: str | None = None  # the other replay's run id
    replays_agree: Mapping[int, Agreement | None] = field(default_factory=dict)
    placement: Placement | None = None


def audit(
    store: Store,
    replay: Replay,
    figures: Figures,
    repetitions: Figures | None = None,
    other: Replay | None = None,
    elsewhere: Replay | None = None,
) -> Audit:
    """Compare a stored replay with published figures.

    `other` is a replay to compare with; `elsewhere` is one whose client was on another host, or on
    the same if that of `replay` was not.
    """
    case = Case.of(replay, figures, repetitions)
    return Audit(
        case=case,
        defects=find_defects(case),
        machine_use=tuple(_machine_use(store, case)),
        against=other.run_id if other else None,
        replays_agree=between_replays(replay, other) if other else {},
        placement=placement_of(replay, elsewhere),
    )


def _machine_use(store: Store, case: Case) -> Iterator[MachineUse]:
    for row, contender in case.running.items():
        for connections in case.replay.protocol.connections:
            rated = [trial for trial in contender.at(connections) if trial.rate_per_s]
            if rated:
                best = max(rated, key=_rate)
                seconds = seconds_of(store, best.id)
                yield MachineUse(row, connections, seconds, best.memory_peak_bytes)


def _rate(trial: Trial) -> float:
    return trial.rate_per_s or 0.0
