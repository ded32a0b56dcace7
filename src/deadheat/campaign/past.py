"""What a run has measured before it goes on; of a new run, nothing."""

import json
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deadheat.store import Gate, Store, TrialRecord

STARTS = """
    SELECT contender.name, count(*) AS starts FROM instance
    JOIN contender ON contender.id = instance.contender_id
    WHERE contender.run_id = ? GROUP BY contender.name
"""
TRIALS = """
    SELECT contender.name, trial.* FROM trial JOIN contender ON contender.id = trial.contender_id
    WHERE trial.run_id = ? ORDER BY trial.id
"""
GATES = "SELECT gate.* FROM gate JOIN trial ON trial.id = trial_id WHERE run_id = ?"
CLOCKS = """
    SELECT trial_id, rows FROM series JOIN trial ON trial.id = trial_id
    WHERE run_id = ? AND name = 'clock_khz'
"""


@dataclass(frozen=True, slots=True)
class Past:
    """Every trial so far with its contender's name, in order, and the starts of each contender.

    `elapsed_s` is the time the run has taken, pauses left out.
    """

    elapsed_s: float = 0.0
    trials: Sequence[tuple[str, TrialRecord]] = ()
    starts: Mapping[str, int] = field(default_factory=dict)

    @property
    def invocations(self) -> int:
        return max((trial.invocation for _, trial in self.trials), default=0)

    @property
    def measured(self) -> list[tuple[str, TrialRecord]]:
        """Those in closed loop that the standings are made of."""
        return [(name, trial) for name, trial in self.trials if trial.kind == "measure"]

    def has(self, name: str) -> bool:
        """Whether a contender has any trial."""
        return any(contender == name for contender, _ in self.trials)

    def done(self, name: str) -> set[tuple[int, int]]:
        """The connections and repetition of each of its trials that did not fail."""
        return {
            (trial.connections, trial.block)
            for contender, trial in self.measured
            if contender == name and trial.state == "ok"
        }

    def complete(self, levels: Sequence[int], blocks: Callable[[int], int]) -> int:
        """How many invocations have all the `blocks` due of them, at every level, of each contender
        that had no failed trial in it."""
        counts: dict[int, Counter[tuple[str, int]]] = {}
        failed: set[tuple[int, str]] = set()
        for name, trial in self.measured:
            counts.setdefault(trial.invocation, Counter())[name, trial.connections] += 1
            if trial.state == "failed":
                failed.add((trial.invocation, name))
        names = {name for name, _ in self.measured}
        return sum(
            all(
                count[name, level] >= blocks(invocation)
                for name in names
                if (invocation, name) not in failed
                for level in levels
            )
            for invocation, count in counts.items()
        )


def load_past(store: Store, run_id: str) -> Past:
    """Read it out of the store: of the trials what the standings and the schedule ask."""
    gates: dict[int, list[Gate]] = {}
    for row in store.rows(GATES, run_id):
        gate = {**row, "passed": bool(row["passed"])}
        gates.setdefault(gate.pop("trial_id"), []).append(Gate(**gate))
    clocks = {
        row["trial_id"]: json.loads(zlib.decompress(row["rows"]))
        for row in store.rows(CLOCKS, run_id)
    }
    rows = store.rows(TRIALS, run_id)
    return Past(
        elapsed_s=max((row["at_s"] + (row["elapsed_s"] or 0.0) for row in rows), default=0.0),
        trials=[
            (row["name"], _record(row, gates.get(row["id"], ()), clocks.get(row["id"])))
            for row in rows
        ],
        starts={row["name"]: row["starts"] for row in store.rows(STARTS, run_id)},
    )


def _record(
    row: Mapping[str, Any], gates: Sequence[Gate], clock_khz: Sequence[float] | None
) -> TrialRecord:
    same = ("run_id", "contender_id", "instance_id", "kind", "invocation", "block", "heat")
    figures = ("connections", "at_s", "state", "reason", "rate_per_s", "elapsed_s")
    return TrialRecord(
        **{name: row[name] for name in (*same, *figures)},
        command=json.loads(row["command"]),
        series={"clock_khz": clock_khz} if clock_khz else {},
        gates=gates,
    )
