"""`RecoveryView`: what came after one trial of a decay study."""

from collections.abc import Sequence
from dataclasses import dataclass

from deadheat.store.rows import StoredTrial


@dataclass(frozen=True, slots=True)
class RecoveryView:
    """`recovered_after_s` is None if the server did not reach its first rate again."""

    invocation: int
    block: int
    recovered_after_s: float | None
    cpu_burnt_s: float | None
    burnt_for_s: float | None
    idle: bool | None  # whether it became idle while it was watched
    reason: str | None


def recoveries(trials: Sequence[StoredTrial]) -> tuple[RecoveryView, ...]:
    """Those among a contender's trials, in their order."""
    return tuple(
        RecoveryView(
            invocation=trial.invocation,
            block=trial.block,
            recovered_after_s=trial.result.get("recovered_after_s"),
            cpu_burnt_s=trial.result.get("cpu_burnt_s"),
            burnt_for_s=trial.result.get("burnt_for_s"),
            idle=trial.result.get("idle"),
            reason=trial.reason,
        )
        for trial in trials
        if trial.kind == "recovery"
    )
