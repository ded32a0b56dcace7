"""Goes on with a run when a link that was lost is back."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from deadheat import numbers
from deadheat.campaign.campaign import Plan
from deadheat.cli.hosts import Hosts
from deadheat.errors import DeadheatError, LinkLost
from deadheat.host.ssh import SILENCE_S, SshHost
from deadheat.output import echo
from deadheat.store.run_argument import run_argument

PAUSE_S = 2.0  # between two tries


def over_links(
    plan: Plan,
    attempt: Callable[[Plan], str],
    rest: Callable[[str], Plan],
    hosts: Hosts,
    store_path: Path,
    wait_s: float,
) -> str:
    """Carry out the plan; go on with the rest of the run each time that a lost link is back."""
    while True:
        try:
            return attempt(plan)
        except LinkLost as lost:
            if lost.run_id is None or plan.extra:
                raise
            _say_waiting(lost, wait_s)
            if not await_link(hosts.far, wait_s):
                run = run_argument(lost.run_id, store_path)
                raise DeadheatError(
                    f"{lost}, and was not back within {numbers.duration(wait_s)}",
                    f"when it is back: deadheat run --resume {run}, with the same hosts",
                ) from lost
            plan = rest(lost.run_id)


def await_link(
    targets: Sequence[str],
    wait_s: float,
    reaches: Callable[[str], bool] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Whether every host can be reached again within about `wait_s`.

    The first try comes after `SILENCE_S`: until then the agent of the lost connection may still
    run what it started.
    """
    begun_s, pause_s = time.monotonic(), SILENCE_S
    reaches = reaches or _reaches
    while pause_s <= wait_s - (time.monotonic() - begun_s):
        sleep(pause_s)
        if all(reaches(target) for target in targets):
            return True
        pause_s = PAUSE_S
    return False


def _say_waiting(lost: LinkLost, wait_s: float) -> None:
    """Say that the run waits; what was measured is in the store."""
    text = f"{lost}; the run goes on if it is back within {numbers.duration(wait_s)}"
    echo(text + lost.said, fg="yellow", err=True)


def _reaches(target: str) -> bool:
    try:
        SshHost(target).close()
    except (DeadheatError, LinkLost):
        return False
    return True
