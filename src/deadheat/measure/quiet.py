"""Before a race: how quiet its machines are. A busy one is awaited, or the user decides."""

from collections.abc import Callable

from deadheat import numbers
from deadheat.errors import Unmeasurable
from deadheat.host import Host
from deadheat.host.cpu_time import Quietness, read_quietness
from deadheat.measure.world import World, by_role
from deadheat.output import echo

BETWEEN_READINGS_S = 4.0
HINT = "end other programs (`top -o %CPU` lists them), or use --wait-quiet=DURATION"


def require_quiet(world: World, wait_s: float | None, ask: Callable[[str], bool] | None) -> None:
    """Say how quiet the machine is; wait up to `wait_s` for it, or let `ask` decide.

    Raises `Unmeasurable` if it stays busy for `wait_s`, or if the answer is no. Without either, a
    busy machine is a warning, and the gates judge each trial.
    """
    if world.beside:
        cpus = (*world.server_cpus, *world.load.cpus)
        _require_quiet(world.server_host, cpus, wait_s, ask, "")
        return
    _require_quiet(world.server_host, world.server_cpus, wait_s, ask, "server host: ")
    for role, side in by_role(world.loads).items():
        _require_quiet(side.host, side.cpus, wait_s, ask, role.replace("load", "load host") + ": ")


def _require_quiet(
    host: Host,
    cpus: tuple[int, ...],
    wait_s: float | None,
    ask: Callable[[str], bool] | None,
    role: str,
) -> None:
    reading = read_quietness(host, cpus)
    if reading is not None and reading.busy and wait_s is not None:
        reading = _wait(host, cpus, wait_s, reading)
    if reading is None:
        return
    echo(f"{role}{reading}", fg="yellow" if reading.busy else None, err=True)
    if reading.busy and ask is not None and not ask("Measure anyway?"):
        raise Unmeasurable("not measured: the machine is busy", HINT)


def _wait(host: Host, cpus: tuple[int, ...], wait_s: float, reading: Quietness) -> Quietness | None:
    """Read until the machine is quiet. Raises `Unmeasurable` if it does not get quiet in time."""
    begun_s = host.now_s()
    echo(f"{reading}; waiting up to {numbers.duration(wait_s)} until it is quiet", err=True)
    latest: Quietness | None = reading
    while latest is not None and latest.busy:
        if host.now_s() - begun_s >= wait_s:
            raise Unmeasurable(
                f"--wait-quiet: after {numbers.duration(wait_s)} {latest}",
                "end other programs (`top -o %CPU` lists them), or wait for longer",
            )
        host.sleep(BETWEEN_READINGS_S)
        latest = read_quietness(host, cpus)
    return latest
