"""An audit: the case, its defects, what the machine did meanwhile, and another replay beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deadheat.audit.beside import Agreement, between_replays
from deadheat.audit.case import Case, Defect
from deadheat.audit.defects.all import find_defects
from deadheat.audit.dstat import Second, seconds_of
from deadheat.audit.replay import Replay, Trial
from deadheat.protocol.figures import Figures
from deadheat.store import Store


@dataclass(frozen=True, slots=True)
class Watched:
    """The machine during the fastest repetition of a row at a level."""

    row: str
    connections: int
    seconds: tuple[Second, ...]
    memory_peak_bytes: int | None


@dataclass(frozen=True, slots=True)
class Audit:
    """All that is told, in whatever format."""

    case: Case
    defects: tuple[Defect, ...]
    watched: tuple[Watched, ...]
    against: str | None = None  # the other replay's run
    replays_agree: Mapping[int, Agreement | None] = field(default_factory=dict)


def audit(
    store: Store,
    replay: Replay,
    figures: Figures,
    repetitions: Figures | None = None,
    other: Replay | None = None,
) -> Audit:
    """Set a stored replay beside published figures."""
    case = Case.of(replay, figures, repetitions)
    return Audit(
        case=case,
        defects=find_defects(case),
        watched=tuple(_watched(store, case)),
        against=other.run_id if other else None,
        replays_agree=between_replays(replay, other) if other else {},
    )


def _watched(store: Store, case: Case) -> list[Watched]:
    found = []
    for row, one in case.running.items():
        for connections in case.replay.protocol.connections:
            rated = [trial for trial in one.at(connections) if trial.rate_per_s]
            if rated:
                best = max(rated, key=_rate)
                seconds = seconds_of(store, best.id)
                found.append(Watched(row, connections, seconds, best.memory_peak_bytes))
    return found


def _rate(trial: Trial) -> float:
    return trial.rate_per_s or 0.0
