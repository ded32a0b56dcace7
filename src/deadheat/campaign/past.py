"""`Past`: what a run has measured before it is resumed. A new run has an empty one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from deadheat.stats.ranking.ranks import Decided
from deadheat.store import Resumption, StoredRun, TrialRecord
from deadheat.store.rows import StoredTrial
from deadheat.workload import Level

COMMON_RATE = "common_rate"  # the kind of the trials of a race at offered rates
AFTER_THE_RACE = ("latency", "latency_rate", "explain")  # take no time of the race


@dataclass(frozen=True, slots=True)
class Extension:
    """More time for a race that had spent its budget: `deadheat resume --more`.

    `until_s` is when it ends, in the time of the race. `share` is what the look before it spent of
    the error, and `decided` its verdicts by level.
    """

    number: int  # from 1
    until_s: float
    share: float
    decided: Mapping[Level, Decided]

    @classmethod
    def of(cls, run: StoredRun) -> Self | None:
        """The last extension of a stored run; None if it has none."""
        match run.conclusion.extensions:
            case (*_, Resumption(until_s=float() as until_s, share=float() as share)):
                decided = {
                    level: run.conclusion.decided_at(level.workload, level.connections)
                    for level in run.protocol.levels
                }
                return cls(len(run.conclusion.extensions), until_s, share, decided)
        return None


def level_of(trial: TrialRecord | StoredTrial) -> Level:
    """The level of a trial."""
    return Level(trial.workload, trial.connections, trial.offered_rate_per_s or 0.0)


@dataclass(frozen=True, slots=True)
class Past:
    """Every trial so far in order, with its contender's name; `is_resumed` also without a trial.

    `starts` counts the instances of each contender. `elapsed_s` is what the run has taken, without
    pauses. `look` is the last look taken, if that is known.
    """

    elapsed_s: float = 0.0
    trials: Sequence[tuple[str, TrialRecord]] = ()
    starts: Mapping[str, int] = field(default_factory=dict)
    look: int | None = None
    extension: Extension | None = None
    is_resumed: bool = False

    @classmethod
    def of(cls, run: StoredRun) -> Self:
        """The past of a stored run.

        A record has what the standings and the schedule ask for; of its gates, those that failed.
        """
        names = {contender.id: contender.name for contender in run.contenders}
        series = dict(run.series("clock_khz"))
        records = [
            TrialRecord.at(
                trial,
                connections=trial.connections,
                offered_rate_per_s=trial.offered_rate_per_s,
                command=trial.command,
                state=trial.state,
                reason=trial.reason,
                rate_per_s=trial.rate_per_s,
                elapsed_s=trial.elapsed_s,
                series=series.get(trial.id, {}),
                slices=run.slices.get(trial.id, ()),
                gates=run.gates_failed.get(trial.id, ()),
            )
            for trial in run.trials
        ]
        ends_s = (_end_s(record) for record in records if record.kind not in AFTER_THE_RACE)
        return cls(
            elapsed_s=max(ends_s, default=0.0),
            trials=[(names[record.contender_id], record) for record in records],
            starts=Counter(names[instance.contender_id] for instance in run.instances),
            look=run.conclusion.last_look,
            extension=Extension.of(run),
            is_resumed=True,
        )

    @property
    def measured(self) -> list[tuple[str, TrialRecord]]:
        """The trials in closed loop, which the standings are made of."""
        return [(name, trial) for name, trial in self.trials if trial.kind == "measure"]


def _end_s(record: TrialRecord) -> float:
    """When a trial ended. One of slices took longer than they did: others ran between them."""
    slices_s = (each.at_s for each in record.slices)
    return max(record.at_s + (record.elapsed_s or 0.0), *slices_s, 0.0)
