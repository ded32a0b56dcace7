"""How long a run under way still takes, from what is stored: no clock of another machine."""

from deadheat.report import format
from deadheat.store.listing import RunProgress


def time_left(run: RunProgress) -> str | None:
    """`at most 2 min` for a race with a budget, `about 2 min` for repetitions, as of its last
    trial. None before a trial, and where nothing is known."""
    stopping, elapsed_s = run.protocol.stopping, run.last_trial_at_s
    if elapsed_s is None:
        return None
    if stopping.kind == "settle":
        return f"at most {_duration(stopping.budget_s - elapsed_s)}"
    planned = run.contenders * len(run.protocol.levels) * stopping.repetitions
    if not run.trials or planned < run.trials:
        return None
    return f"about {_duration(elapsed_s * (planned / run.trials - 1))}"


def _duration(left_s: float) -> str:
    return format.duration(max(1, round(left_s)))
