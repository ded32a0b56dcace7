"""What a started instance answers wrong, beside the three checks of `verify`."""

from collections.abc import Sequence

from deadheat.measure.lifecycle import Instance
from deadheat.measure.trial import workload_of
from deadheat.measure.verify import first_answer
from deadheat.measure.workload_check import workload_fault
from deadheat.measure.world import World
from deadheat.protocol import Protocol


def workload_faults(
    world: World, protocol: Protocol, instance: Instance, names: Sequence[str]
) -> dict[str, str]:
    """What is wrong with its answers, by workload; those that are right are missing."""
    contender = instance.contender
    faults: dict[str, str] = {}
    for name in names:
        workload = workload_of(protocol, contender, name)
        if workload is None:
            continue
        fault = workload_fault(world.server_host, instance.address, workload, contender.ready_s)
        if fault is not None:
            faults[name] = fault
    return faults


def answers_vary(world: World, instance: Instance) -> str | None:
    """What is wrong with a user's own server whose answers differ; None if they do not."""
    if instance.contender.body_varies or instance.contender.sample is not None:
        return None
    ready_s = instance.contender.ready_s
    answers = [
        first_answer(world.server_host, instance.address, instance.path, ready_s) for _ in range(2)
    ]
    if len({answer.body for answer in answers if answer is not None}) < 2:
        return None
    return "its answers differ from one another; if they are meant to: --any-body"
