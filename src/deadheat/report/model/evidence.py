"""The evidence behind a contender's figures: its build, its sources, what the tool printed."""

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass

from deadheat.report.model.shape import SHAPE, Finite
from deadheat.store.rows import StoredBuild, StoredTrial, TrialOutput

OUTPUT_MAX = 6_000
LOG_MAX = 3_000
PACKED = re.compile(r"[A-Za-z0-9+/=_-]{160,}")  # histograms in base64: the curves show them


@dataclass(frozen=True, slots=True)
class Build:
    """How a server was built."""

    __pydantic_config__ = SHAPE

    key: str
    """Content hash of its folder, recipe and toolchains."""
    built_at: datetime.datetime
    elapsed_s: Finite
    toolchains: dict[str, str]
    files: dict[str, str]
    """Sources and lock files, with their SHA-256."""
    log: str


@dataclass(frozen=True, slots=True)
class RawOutput:
    """What the load generator printed in one trial: the one nearest the median rate."""

    __pydantic_config__ = SHAPE

    invocation: int
    block: int
    connections: int
    command: tuple[str, ...]
    stdout: str
    """As printed, without packed histograms and without what is too long; a note says what is
    left out."""
    stderr: str


def build_of(stored: StoredBuild) -> Build:
    """The build, with the end of its log."""
    return Build(
        key=stored.key,
        built_at=datetime.datetime.fromisoformat(stored.built_at),
        elapsed_s=stored.elapsed_s,
        toolchains=dict(stored.toolchains),
        files=dict(stored.files),
        log=_end(stored.log),
    )


def middle_trial(trials: Sequence[StoredTrial]) -> StoredTrial | None:
    """The trial with the median rate at the last level; a failed one if all of them failed."""
    if not trials:
        return None
    at_level = sorted(
        (trial for trial in trials if trial.connections == trials[-1].connections),
        key=lambda trial: (trial.rate_per_s is not None, trial.rate_per_s or 0.0),
    )
    measured = [trial for trial in at_level if trial.rate_per_s] or at_level
    return measured[len(measured) // 2]


def raw_output(trial: StoredTrial, output: TrialOutput) -> RawOutput:
    """The output of a trial, shortened."""
    return RawOutput(
        invocation=trial.invocation,
        block=trial.block,
        connections=trial.connections,
        command=trial.command,
        stdout=_shortened(output.stdout),
        stderr=_shortened(output.stderr),
    )


def _shortened(text: str) -> str:
    """The output, with a note in place of each part that is left out."""
    text = PACKED.sub(lambda match: f"({len(match[0]):,} characters)", text)
    if len(text) > OUTPUT_MAX:
        return f"{text[:OUTPUT_MAX]}\n({len(text) - OUTPUT_MAX:,} more characters in the store)"
    return text


def _end(log: str) -> str:
    """The end of a long log, where an error is shown."""
    if len(log) <= LOG_MAX:
        return log
    return f"({len(log) - LOG_MAX:,} characters before this in the store)\n{log[-LOG_MAX:]}"
