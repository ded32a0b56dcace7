"""Outline of a run of servers alone: every trial, before anything starts."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from deadheat import numbers
from deadheat.campaign.estimate import START_S, TRIAL_OVERHEAD_S
from deadheat.campaign.schedule import PROCESSES, restart_of, schedule
from deadheat.measure.contender import NULL_SERVER
from deadheat.protocol import Protocol


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One trial of the outline; `starts` if a fresh process precedes it."""

    contender: str
    connections: int
    repetition: int
    starts: bool


@dataclass(frozen=True, slots=True)
class Outline:
    """Every trial in order, its published row, and the duration of all without builds."""

    protocol: Protocol
    labels: Mapping[str, str]  # contender -> published row
    trials: tuple[PlannedTrial, ...]
    missing: Mapping[str, str]  # published row -> why it has no trial
    remarks: tuple[str, ...]  # differences between this machine and the protocol
    least_s: float
    most_s: float

    def to_json(self) -> dict[str, Any]:
        return {
            "label": self.protocol.label,
            "contenders": dict(self.labels),
            "trials": [asdict(trial) for trial in self.trials],
            "missing": dict(self.missing),
            "remarks": list(self.remarks),
            "least_s": self.least_s,
            "most_s": self.most_s,
        }

    def lines(self) -> list[str]:
        protocol, starts = self.protocol, sum(trial.starts for trial in self.trials)
        lines = [
            f"{protocol.label}: {protocol.about}",
            f"alone         {len(self.trials)} trials of {protocol.duration_s:g} s, "
            f"{starts} starts, {protocol.generator}",
        ]
        for name in dict.fromkeys(trial.contender for trial in self.trials):
            lines.append(self._contender_line(name))
            lines += self._trial_lines(name)
        if self.missing:
            lines.append(f"missing       {len(self.missing)} published rows have no trial")
            lines += [f"  {row:40} {reason}" for row, reason in self.missing.items()]
        lines += [f"note          {remark}" for remark in (*protocol.notes, *self.remarks)]
        most = f", {numbers.duration(self.most_s)} at most" if self.most_s > self.least_s else ""
        return [*lines, f"takes         {numbers.duration(self.least_s)}{most}, without builds"]

    def _contender_line(self, name: str) -> str:
        row = self.labels.get(name)
        restart = PROCESSES[restart_of(self.protocol, row)]
        return f"{row or name}{f' ({name})' if row else ''}: {restart}"

    def _trial_lines(self, name: str) -> list[str]:
        """One line for each level: the repetitions, with `*` before those of a fresh process."""
        return [
            f"  {connections:>6} connections   "
            + " ".join(
                f"{'*' if trial.starts else ''}{trial.repetition}"
                for trial in self.trials
                if trial.contender == name and trial.connections == connections
            )
            for connections in self.protocol.connections
        ]


def outline(
    protocol: Protocol,
    names: Sequence[str],
    labels: Mapping[str, str],
    missing: Mapping[str, str],
    remarks: Sequence[str] = (),
) -> Outline:
    """The outline of a protocol; `names` are contenders in the order in which they run."""
    contenders = [*([NULL_SERVER] if protocol.controls else []), *names]
    trials = tuple(
        PlannedTrial(name, step.connections, step.repetition, step.starts)
        for name in contenders
        for step in schedule(protocol, labels.get(name))
    )
    trial_s = protocol.duration_s + protocol.discard_s + TRIAL_OVERHEAD_S
    warm_s = protocol.warmup.duration_s if protocol.warmup.kind == "fixed" else 0.0
    starting_s = sum(trial.starts for trial in trials) * (START_S + warm_s)
    least_s = starting_s + len(trials) * trial_s
    most_s = least_s
    if (rule := protocol.recovery) is not None:
        least_s += len(trials) * rule.probe_s
        most_s += len(trials) * (rule.limit_s + rule.probe_s)
    return Outline(protocol, labels, trials, missing, tuple(remarks), least_s, most_s)
