"""Decay and recovery: how one process's rate changes over trials, and what follows each trial."""

from dataclasses import asdict, dataclass
from pathlib import Path

from deadheat import numbers
from deadheat.audit.audit import figures_if_any
from deadheat.audit.page import Page, Section
from deadheat.audit.replay import Replay, ReplayedContender
from deadheat.audit.sections import heading
from deadheat.report.formats.tables import Column, column
from deadheat.stats.repetitions import Trend, trend
from deadheat.store.json_columns import TrialResult

DECAY = "landshark-2009-decay"  # the one published series


@dataclass(frozen=True, slots=True)
class Aftermath:
    """One trial and what came after it; None if that was not watched."""

    trial: int
    rate_per_s: float | None
    cpu_burnt_s: float | None
    burnt_for_s: float | None
    idle: bool | None  # whether it became idle while it was watched
    recovered_after_s: float | None
    reason: str | None  # why the trial failed, or why the server did not recover

    @property
    def watched(self) -> bool:
        """Whether it was watched; false if the run ended during the trial."""
        return self.burnt_for_s is not None


@dataclass(frozen=True, slots=True)
class TrialSeries:
    """The trials of one process in order. `trend` is the change per trial, of the first rate."""

    name: str
    trials: tuple[Aftermath, ...]
    trend: Trend | None
    recovers: bool


def series_of(contender: ReplayedContender) -> TrialSeries:
    """The series of a contender that has a trial."""
    trials = []
    for trial in contender.trials:
        recovery = contender.recoveries.get(trial.repetition)
        result = recovery.result if recovery else TrialResult()
        trials.append(
            Aftermath(
                trial=trial.repetition,
                rate_per_s=trial.rate_per_s,
                cpu_burnt_s=result.cpu_burnt_s,
                burnt_for_s=result.burnt_for_s,
                idle=result.idle,
                recovered_after_s=result.recovered_after_s,
                reason=trial.reason or (recovery.reason if recovery else None),
            )
        )
    rates = [trial.rate_per_s or 0.0 for trial in trials]
    recovers = all(trial.recovered_after_s is not None for trial in trials)
    return TrialSeries(contender.name, tuple(trials), trend(rates), recovers)


def decay_page(replay: Replay, root: Path) -> Page:
    """Decay and recovery: a section for each server, and the published series of the catalog."""
    series = [series_of(contender) for contender in replay.contenders if contender.trials]
    published = figures_if_any(root, DECAY)
    sections = [
        Section(each.name, (_verdict(each),), _table(each), _reasons(each)) for each in series
    ]
    if published is not None:
        rates = [numbers.rate(figure.rate_per_s) for figure in published.figures]
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
            "hosts": {role: each.to_json() for role, each in replay.hosts.items()},
            "series": [asdict(each) for each in series],
        },
    )


def _verdict(series: TrialSeries) -> str:
    text = f"{numbers.count(len(series.trials), 'trial')} against one process"
    if series.trend is not None:
        low, high = numbers.percent(series.trend.low), numbers.percent(series.trend.high)
        text += (
            f"; the rate changes by {numbers.percent(series.trend.per_step)} [{low}, {high}] "
            "of the first rate per trial"
        )
    if series.recovers:
        return f"{text}; it recovered after each trial."
    if not series.trials[-1].watched:
        return f"{text}; the run was ended during its series."
    return f"{text}; it did not recover, so its series ended."


def _table(series: TrialSeries) -> tuple[Column, ...]:
    trials, first = series.trials, series.trials[0].rate_per_s
    return (
        column(trials, "trial", lambda trial: str(trial.trial)),
        column(trials, "req/s", lambda trial: numbers.rate(trial.rate_per_s)),
        column(trials, "of the first\n%", lambda trial: _of_first(trial, first)),
        column(trials, "CPU used after\ns", lambda trial: _seconds(trial.cpu_burnt_s)),
        column(trials, "busy for\ns", _busy),
        column(trials, "recovered after\ns", _recovered),
    )


def _of_first(trial: Aftermath, first_per_s: float | None) -> str:
    return f"{100 * (trial.rate_per_s or 0) / first_per_s:.1f}" if first_per_s else numbers.NONE


def _recovered(trial: Aftermath) -> str:
    never = trial.watched and trial.recovered_after_s is None
    return "never" if never else _seconds(trial.recovered_after_s)


def _reasons(series: TrialSeries) -> tuple[str, ...]:
    return tuple(
        f"trial {trial.trial}: {trial.reason.splitlines()[0]}"
        for trial in series.trials
        if trial.reason
    )


def _busy(trial: Aftermath) -> str:
    if trial.burnt_for_s is None:
        return numbers.NONE
    return f"{'' if trial.idle else 'over '}{trial.burnt_for_s:.0f}"


def _seconds(value: float | None) -> str:
    return numbers.NONE if value is None else f"{value:.1f}"
