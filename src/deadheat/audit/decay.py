"""Decay and recovery: the rate from trial to trial of one process, and what follows each trial."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from deadheat.audit.page import Page, Section
from deadheat.audit.replay import Contender, Replay
from deadheat.audit.sections import heading
from deadheat.protocol.figures import Figures
from deadheat.report import format
from deadheat.report.model.column import Column
from deadheat.stats.trend import Trend, trend
from deadheat.store import Store

RECOVERIES = """
    SELECT contender.name, block, state, reason, result FROM trial
    JOIN contender ON contender.id = trial.contender_id
    WHERE trial.run_id = ? AND trial.kind = 'recovery' ORDER BY trial.id
"""


@dataclass(frozen=True, slots=True)
class Aftermath:
    """One trial and what came after it; None where that was not seen."""

    trial: int
    rate_per_s: float | None
    cpu_burnt_s: float | None
    burnt_for_s: float | None
    idle: bool | None  # whether it came to rest while it was watched
    recovered_after_s: float | None
    reason: str | None  # why the trial failed, or it did not recover

    @property
    def seen(self) -> bool:
        """Whether it was watched: not where the run ended with the trial."""
        return self.burnt_for_s is not None


@dataclass(frozen=True, slots=True)
class Series:
    """The trials of one process in order; `trend` is the change a trial, of the first rate."""

    name: str
    trials: tuple[Aftermath, ...]
    trend: Trend | None
    recovers: bool


def load_series(store: Store, replay: Replay) -> tuple[Series, ...]:
    """Every contender's series of a stored decay run."""
    after: dict[tuple[str, int], Mapping[str, Any]] = {
        (row["name"], row["block"]): {**row, "result": json.loads(row["result"])}
        for row in store.rows(RECOVERIES, replay.run_id)
    }
    return tuple(_series(one, after) for one in replay.contenders if one.trials)


def _series(one: Contender, after: Mapping[tuple[str, int], Mapping[str, Any]]) -> Series:
    trials = []
    for trial in one.trials:
        row = after.get((one.name, trial.repetition), {"result": {}})
        result = row["result"]
        trials.append(
            Aftermath(
                trial=trial.repetition,
                rate_per_s=trial.rate_per_s,
                cpu_burnt_s=result.get("cpu_burnt_s"),
                burnt_for_s=result.get("burnt_for_s"),
                idle=result.get("idle"),
                recovered_after_s=result.get("recovered_after_s"),
                reason=trial.reason or row.get("reason"),
            )
        )
    rates = [trial.rate_per_s or 0.0 for trial in trials]
    recovers = all(trial.recovered_after_s is not None for trial in trials)
    return Series(one.name, tuple(trials), trend(rates), recovers)


def decay_page(replay: Replay, series: Sequence[Series], published: Figures | None) -> Page:
    """A section a server, and the published series beside them."""
    sections = [Section(one.name, (_verdict(one),), _table(one), _reasons(one)) for one in series]
    if published is not None:
        rates = [format.rate(figure.rate_per_s) for figure in published.figures]
        text = f"{published.rows[0]}, {published.sources[0]}: {', '.join(rates)} requests/s."
        sections.append(Section("Published", (text,)))
    return Page(
        title="Decay and recovery",
        heading=tuple(heading(replay)),
        command=replay.command,
        sections=tuple(sections),
        document={
            "schema": "deadheat-decay/1",
            "run": replay.run_id,
            "label": replay.protocol.label,
            "protocol": replay.protocol.model_dump(),
            "command": replay.command,
            "hosts": replay.hosts,
            "series": [asdict(one) for one in series],
        },
    )


def _verdict(one: Series) -> str:
    told = f"{format.count(len(one.trials), 'trial')} against one process"
    if one.trend is not None:
        change = [format.percent(value) for value in (one.trend.low, one.trend.high)]
        told += (
            f", a change of {format.percent(one.trend.per_step)} [{change[0]}, {change[1]}] "
            "of the first rate a trial"
        )
    if one.recovers:
        return f"{told}; after each it served its first trial's rate again."
    if not one.trials[-1].seen:
        return f"{told}; the run was ended during its series."
    return f"{told}; it did not recover, and its series ended there."


def _table(one: Series) -> tuple[Column, ...]:
    first = one.trials[0].rate_per_s
    return (
        Column("trial", tuple(str(trial.trial) for trial in one.trials)),
        Column("req/s", tuple(format.rate(trial.rate_per_s) for trial in one.trials)),
        Column(
            "of the first\n%",
            tuple(
                f"{100 * (trial.rate_per_s or 0) / first:.1f}" if first else format.NONE
                for trial in one.trials
            ),
        ),
        Column("CPU burnt\ns", tuple(_seconds(trial.cpu_burnt_s) for trial in one.trials)),
        Column("busy for\ns", tuple(_busy(trial) for trial in one.trials)),
        Column(
            "recovered within\ns",
            tuple(
                "never"
                if trial.seen and trial.recovered_after_s is None
                else _seconds(trial.recovered_after_s)
                for trial in one.trials
            ),
        ),
    )


def _reasons(one: Series) -> tuple[str, ...]:
    return tuple(
        f"trial {trial.trial}: {trial.reason.splitlines()[0]}"
        for trial in one.trials
        if trial.reason
    )


def _busy(trial: Aftermath) -> str:
    if trial.burnt_for_s is None:
        return format.NONE
    return f"{'' if trial.idle else 'over '}{trial.burnt_for_s:.0f}"


def _seconds(value: float | None) -> str:
    return format.NONE if value is None else f"{value:.1f}"
