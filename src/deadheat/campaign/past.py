"""`Past`: what a run has measured before it is resumed. A new run has an empty one."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from deadheat.measure.slices import SERIES
from deadheat.protocol import workload_names_of
from deadheat.stats.decision import Verdict
from deadheat.stats.ranking import Decided
from deadheat.store import StoredRun, TrialRecord
from deadheat.store.rows import StoredTrial
from deadheat.workload import HELLO, Level

AFTER_THE_RACE = ("latency", "latency_rate")  # kinds of trials that take no time of the race


@dataclass(frozen=True, slots=True)
class Extension:
    """More time for a race that had spent its budget: `deadheat run --more`.

    `until_s` is when it ends, in the time of the race. `share` is what the look before it spent of
    the error, and `decided` its verdicts by level.
    """

    number: int  # from 1
    until_s: float
    share: float
    decided: Mapping[Level, Decided]

    @classmethod
    def of(cls, conclusion: Mapping[str, Any], workload: str = HELLO) -> Self | None:
        """The last extension of a stored run whose first workload this is; None if it has none."""
        entries = [entry for entry in conclusion.get("resumed", ()) if "more_s" in entry]
        if not entries:
            return None
        last = entries[-1]
        verdicts = decided(conclusion, workload)
        return cls(len(entries), last["until_s"], last["share"], verdicts)


def decided(conclusion: Mapping[str, Any], workload: str) -> dict[Level, Decided]:
    """The verdicts of earlier looks that a stored conclusion keeps, by level.

    `workload` is the run's first one, which runs before version 0.2 left out.
    """
    return {
        Level.of_key(key, workload): {
            (faster, slower): Verdict(verdict) for faster, slower, verdict in pairs
        }
        for key, pairs in conclusion.get("decided", {}).items()
    }


def decided_on(conclusion: Mapping[str, Any], workload: str) -> dict[int, Decided]:
    """Those verdicts of one workload, by connections."""
    return {
        level.connections: verdicts
        for level, verdicts in decided(conclusion, workload).items()
        if level.workload == workload
    }


def level_of(trial: TrialRecord | StoredTrial) -> Level:
    """The level of a trial."""
    return Level(trial.workload, trial.connections)


@dataclass(frozen=True, slots=True)
class Past:
    """Every trial so far in order, with its contender's name.

    `starts` counts the instances of each contender. `elapsed_s` is what the run has taken, without
    pauses. `look` is the last look taken, if that is known.
    """

    elapsed_s: float = 0.0
    trials: Sequence[tuple[str, TrialRecord]] = ()
    starts: Mapping[str, int] = field(default_factory=dict)
    look: int | None = None
    extension: Extension | None = None

    @classmethod
    def of(cls, run: StoredRun) -> Self:
        """The past of a stored run.

        A record has what the standings and the schedule ask for; of its gates, those that failed.
        """
        names = {contender.id: contender.name for contender in run.contenders}
        series = dict(run.series("clock_khz", SERIES))
        records = [
            TrialRecord.at(
                trial,
                connections=trial.connections,
                command=trial.command,
                state=trial.state,
                reason=trial.reason,
                rate_per_s=trial.rate_per_s,
                elapsed_s=trial.elapsed_s,
                series=series.get(trial.id, {}),
                gates=run.gates_failed.get(trial.id, ()),
            )
            for trial in run.trials
        ]
        ends_s = (_end_s(record) for record in records if record.kind not in AFTER_THE_RACE)
        return cls(
            elapsed_s=max(ends_s, default=0.0),
            trials=[(names[record.contender_id], record) for record in records],
            starts=Counter(names[instance.contender_id] for instance in run.instances),
            look=_last_look(run.conclusion),
            extension=Extension.of(run.conclusion, workload_names_of(run.protocol)[0]),
        )

    @property
    def measured(self) -> list[tuple[str, TrialRecord]]:
        """The trials in closed loop, which the standings are made of."""
        return [(name, trial) for name, trial in self.trials if trial.kind == "measure"]

    def has(self, name: str) -> bool:
        """Whether a contender has any trial."""
        return any(contender == name for contender, _ in self.trials)

    def done(self, name: str) -> set[tuple[int, int]]:
        """The connections and repetition of each trial of a contender that did not fail."""
        return {
            (trial.connections, trial.block)
            for contender, trial in self.measured
            if contender == name and trial.state == "ok"
        }


def _last_look(conclusion: Mapping[str, Any]) -> int | None:
    """The last look that the run or an earlier part of it took."""
    parts = [conclusion, *conclusion.get("resumed", ())]
    return max((part["look"] for part in parts if part.get("look") is not None), default=None)


def _end_s(record: TrialRecord) -> float:
    """When a trial ended. One of slices took longer than they did: others ran between them."""
    slices_s = (float(row["at_s"]) for row in record.series.get(SERIES, ()))
    return max(record.at_s + (record.elapsed_s or 0.0), *slices_s, 0.0)
