"""The freeze check: frozen for as long as in a race, a server has to come back unchanged."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from deadheat.build.prepare import Candidate
from deadheat.errors import DeadheatError
from deadheat.measure import lifecycle
from deadheat.measure.contender import contender_from
from deadheat.measure.inspection import load_server
from deadheat.measure.lifecycle import Instance, StartFailed
from deadheat.measure.verify import BODY, fault_of, first_answer
from deadheat.measure.world import World

FREEZE_S = 90.0  # longer than the watchdogs of gunicorn (30 s) and of puma and unicorn (60 s)
SETTLE_S = 5.0  # for processes that a server starts after its first answer
CONNECTIONS = 10
LOAD_S = 1.0
WATCH_S = 15.0  # after the thaw; puma looks at its workers every 5 s


@dataclass(frozen=True, slots=True)
class _Frozen:
    instance: Instance
    processes: frozenset[tuple[int, int]]  # PID, start


def freeze_faults(world: World, candidates: Sequence[Candidate]) -> list[str | None]:
    """Freeze all candidates at the same time; per candidate the fault, or None.

    Each is started, frozen for at least `FREEZE_S`, thawed and loaded in turn, as in a race. Then
    it has to give the right answer, and to have the same processes `WATCH_S` later. Every candidate
    has to be built. A pass is no proof: after a thaw, a worker may report before its watchdog
    looks, as puma's did in 9 of 9 freezes with its own timeout of 60 s.
    """
    host = world.server_host
    instances: list[Instance | str] = []
    try:
        for candidate in candidates:
            instances.append(_start(world, candidate))
        host.sleep(SETTLE_S)
        frozen = [_freeze(world, instance) for instance in instances]
        host.sleep(FREEZE_S)
        answers = [_answer_fault(world, each) for each in frozen]
        host.sleep(WATCH_S)
        return [
            answer_fault or _change(world, each)
            for answer_fault, each in zip(answers, frozen, strict=True)
        ]
    finally:
        for instance in _running(instances):
            lifecycle.stop(world, instance)


def _running(instances: Sequence[Instance | str]) -> Iterator[Instance]:
    return (instance for instance in instances if isinstance(instance, Instance))


def _start(world: World, candidate: Candidate) -> Instance | str:
    """The started instance, or why it did not start."""
    assert candidate.built is not None
    try:
        return lifecycle.start(world, contender_from(candidate.selection, candidate.built))
    except StartFailed as error:
        return error.reason


def _freeze(world: World, instance: Instance | str) -> _Frozen | str:
    if isinstance(instance, str):
        return instance
    processes = world.server_host.members(instance.process)
    lifecycle.freeze(world, instance)
    return _Frozen(instance, processes)


def _answer_fault(world: World, frozen: _Frozen | str) -> str | None:
    """Thaw, load, and check the next answer."""
    if isinstance(frozen, str):
        return frozen
    instance = frozen.instance
    lifecycle.thaw(world, instance)
    failed = ""
    with suppress(DeadheatError):  # that a dead server cannot be loaded shows in its answer
        failed = load_server(world, instance, CONNECTIONS, LOAD_S).errors_text
    answer = first_answer(world.server_host, instance.address, instance.path)
    fault = fault_of(answer, instance.contender.media_type, BODY)
    if fault is None and failed:
        fault = f"requests failed under load: {failed}"
    return None if fault is None else f"after {FREEZE_S:g} s frozen: {fault}"


def _change(world: World, frozen: _Frozen | str) -> str | None:
    if isinstance(frozen, str):
        return frozen
    now = world.server_host.members(frozen.instance.process)
    gone, new = len(frozen.processes - now), len(now - frozen.processes)
    if not gone and not new:
        return None
    return (
        f"after {FREEZE_S:g} s frozen: {gone} of its {len(frozen.processes)} processes ended, "
        f"{new} began"
    )
