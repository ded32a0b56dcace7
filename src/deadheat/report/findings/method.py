"""How a run was measured, in sentences that follow its protocol and its schedule."""

from collections.abc import Iterator

from deadheat.campaign.schedule import PROCESSES
from deadheat.report import format
from deadheat.report.findings.analysis import Analysis
from deadheat.report.model.view import RunView

INVALID = (
    "A trial that fails a check (errors, a client at its limit, another process on the CPUs, ...) "
    "is shown but not ranked."
)
RANKS = (
    "A rank is an interval where several places are possible. Braced rows are a dead heat: the "
    "data show that the contenders differ by less than the margin, or cannot separate them.",
    "All statements about one number of connections hold together at the stated confidence. They "
    "hold for these builds, on this machine, under this load.",
)


def method(view: RunView, analysis: Analysis) -> tuple[str, ...]:
    """What was done, then what the ranks mean if there are any, in sentences."""
    ranked = any(level.ranked for level in analysis.levels)
    return (*_schedule(view), *(RANKS if ranked else ()), *((INVALID,) if view.races else ()))


def _schedule(view: RunView) -> Iterator[str]:
    if not view.races:
        yield _search(view)
    elif (rule := view.protocol.slices) is not None:
        yield _slices(view, rule.rounds)
    elif view.protocol.residency == "alone":
        yield _alone(view)
        if view.protocol.recovery is not None:
            yield (
                "After each trial deadheat waited until the process was idle, and then until it "
                "was as fast as in its first trial."
            )
    else:
        yield _blocks(view)
    if view.races and any(contender.offered for contender in view.contenders):
        yield (
            "Latency was measured afterwards at fixed offered rates (open loop), from the moment "
            "each request was due."
        )


def _search(view: RunView) -> str:
    return (
        "deadheat offered requests at fixed rates (open loop) to one contender after the other, "
        f"in trials of {_duration(view)}, and searched for the highest rate that held the "
        "objective. It does not compare contenders."
    )


def _slices(view: RunView, rounds_of_block: int) -> str:
    rounds = format.count(rounds_of_block, "round")
    return (
        "deadheat started, verified and warmed up all contenders. In each round, one contender "
        f"after the other was thawed and loaded for one slice of {_duration(view)}, or longer if "
        f"it is slow, while the others were frozen. {rounds} are a block. One model of all slices "
        "estimates the rates; it compares slices that are close in time, so a slower machine "
        "slows every contender."
    )


def _blocks(view: RunView) -> str:
    end = (
        "The run stopped at a declared look once the order was settled, or when the budget was "
        "spent."
        if view.settles
        else f"The plan had {format.count(view.protocol.stopping.repetitions, 'block')}."
    )
    order = "in a fixed order" if view.protocol.order == "listed" else "in random order"
    return (
        f"deadheat started, verified and warmed up all contenders. In each block, {order}, one "
        f"contender was loaded for {_duration(view)} while the others were frozen. Rates are "
        f"compared within blocks, so a slower machine slows every contender. {end}"
    )


def _alone(view: RunView) -> str:
    """Nothing cancels a change of the machine here, so it says so."""
    repetitions = format.count(view.protocol.stopping.repetitions, "repetition")
    processes = PROCESSES[view.protocol.restart]
    return (
        "The contenders ran one after the other, as in the comparison that this run repeats: "
        f"{repetitions} of {_duration(view)} for each, {processes}. No other contender was "
        "running. A change of the machine during the run therefore affects some contenders and "
        "not others."
        if view.protocol.origin is not None
        else f"The contenders ran one after the other: {repetitions} of {_duration(view)} for "
        f"each, {processes}. A change of the machine during the run therefore affects some "
        "contenders and not others."
    )


def _duration(view: RunView) -> str:
    return format.duration(view.protocol.duration_s)
