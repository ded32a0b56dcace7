"""A noisy machine during a race: the race waits a while within its budget, and says so."""

from collections.abc import Iterator

from deadheat.campaign.context import RunContext
from deadheat.duration import spell_duration
from deadheat.events import Event, Progress
from deadheat.host import Host
from deadheat.host.cpu_time import Quietness, read_quietness
from deadheat.measure.world import World, by_role

WAIT_SHARE_MAX = 0.1  # of the budget: a machine that stays noisy is measured as it is
PAUSE_S = 4.0  # between two readings


def wait_until_quiet(run: RunContext, trouble: str, left_s: float) -> None:
    """Wait until no machine is busy, for a part of the budget; then the race goes on anyway.

    `trouble` says what failed. `left_s` is what is left of the budget.
    """
    clock = run.world.server_host
    begun_s = clock.now_s()
    most_s = min(WAIT_SHARE_MAX * run.protocol.stopping.budget_s, left_s)
    busy = _busy(run.world)
    if busy is None:
        run.listen(Event(f"{trouble}: the machine is quiet now, so the race goes on", trouble=True))
        return
    longest = spell_duration(round(most_s))
    text = f"{trouble}: {busy}; the race waits up to {longest} until it is quiet"
    run.listen(Event(text, trouble=True))
    while busy is not None and clock.now_s() - begun_s + PAUSE_S < most_s:
        waited_s = clock.now_s() - begun_s
        run.listen(Progress("waiting until the machine is quiet", left_s=most_s - waited_s))
        clock.sleep(PAUSE_S)
        busy = _busy(run.world)
    waited = spell_duration(round(clock.now_s() - begun_s))
    now = "quiet" if busy is None else "still busy"
    run.listen(Event(f"the machine is {now} after {waited}: the race goes on"))


def _busy(world: World) -> Quietness | None:
    """The reading of a busy machine of the race; None if all are quiet."""
    readings = (read_quietness(host, cpus) for host, cpus in _machines(world))
    return next((reading for reading in readings if reading is not None and reading.busy), None)


def _machines(world: World) -> Iterator[tuple[Host, tuple[int, ...]]]:
    if world.beside:
        yield world.server_host, (*world.server_cpus, *world.load.cpus)
        return
    yield world.server_host, world.server_cpus
    for side in by_role(world.loads).values():
        yield side.host, side.cpus
