"""How long a run under way still takes, from what is stored: no clock of another machine."""

from deadheat import numbers
from deadheat.protocol import workload_names_of
from deadheat.store.listing import RunProgress


def time_left(run: RunProgress) -> str | None:
    """`at most 2 min` for a race with a budget, `about 2 min` for repetitions, as of its last
    trial. None before a trial, and where nothing is known."""
    stopping, elapsed_s = run.protocol.get("stopping", {}), run.last_trial_at_s
    if elapsed_s is None:
        return None
    if stopping.get("kind") == "settle":
        budget_s = stopping.get("budget_s")
        return f"at most {_duration(budget_s - elapsed_s)}" if budget_s else None
    levels = len(run.protocol.get("connections", ())) * len(workload_names_of(run.protocol))
    planned = run.contenders * levels * stopping.get("repetitions", 0)
    if not run.trials or planned < run.trials:
        return None
    return f"about {_duration(elapsed_s * (planned / run.trials - 1))}"


def _duration(left_s: float) -> str:
    return numbers.duration(max(1, round(left_s)))
