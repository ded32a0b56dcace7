"""Capacity: the highest offered rate at which an objective holds without errors, and the search
for it, one trial at a time.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from deadheat.campaign.run import RunContext
from deadheat.campaign.trials import TrialRunner
from deadheat.errors import DeadheatError
from deadheat.events import Progress
from deadheat.measure import lifecycle
from deadheat.measure.starter import Starter, Unfit
from deadheat.measure.trial import load_spec
from deadheat.measure.warm_up import WarmInstance
from deadheat.protocol import SearchProtocol
from deadheat.store import Capacity, TrialRecord

START_SHARE = 0.7  # of the closed-loop rate at the end of the warm-up
LOWEST_SHARE = 0.01
PRECISION = 0.02  # of the capacity: then the search ends
GROWTH = 1.5  # from one rate to the next, until one holds and another fails
TRIALS_MAX = 24
SERVER_GATES = frozenset({"errors", "served", "workers", "achieved", "listen_drops"})


@dataclass(frozen=True, slots=True)
class Objective:
    """`p99=10ms`: the highest allowed value of a quantile of the response time."""

    quantile: str  # p50, p75, p90, p99, p99_9, p99_99
    limit_us: float

    @classmethod
    def parse(cls, text: str) -> "Objective":
        """Parse `p99=10ms`. Raises `DeadheatError`."""
        match = re.fullmatch(r"p(50|75|90|99|99\.9|99\.99)=(\d+(?:\.\d+)?)(us|ms|s)", text)
        if match is None:
            raise DeadheatError(
                f"--slo {text!r}: expected a quantile and a limit, such as p99=10ms",
                "quantiles: p50, p75, p90, p99, p99.9, p99.99; units: us, ms, s",
            )
        unit_us = {"us": 1.0, "ms": 1e3, "s": 1e6}[match.group(3)]
        quantile = f"p{match.group(1).replace('.', '_')}"
        return cls(quantile, float(match.group(2)) * unit_us)

    def holds(self, record: TrialRecord) -> bool | None:
        """True without errors, at the offered rate, with a known quantile within its limit.

        None if the trial failed a gate that is not the server's: it says nothing about the server
        if the client, a neighbor or the hypervisor disturbed it.
        """
        failed = {gate.code for gate in record.gates if not gate.passed}
        disturbed = failed - SERVER_GATES
        if record.state != "ok":
            return False
        quantile_us = record.figures.response_us.get(self.quantile)
        if not failed & SERVER_GATES and quantile_us is not None and quantile_us <= self.limit_us:
            return True
        return None if disturbed else False

    def requests_needed(self) -> float:
        """The requests that quantile q needs: 100 / (1 - q)."""
        share = float(self.quantile[1:].replace("_", ".")) / 100
        return 100 / (1 - share)


def find_capacities(run: RunContext[SearchProtocol], objective: Objective) -> Iterator[Capacity]:
    """Search the capacity of each contender in turn; stores every trial."""
    starter = Starter(run.world, run.protocol, run.store, run.listen)
    for entered in run.entered_contenders:
        try:
            warm = starter.start(entered, 1, run.now_s())
        except Unfit as unfit:
            yield _not_measured(entered.contender.name, str(unfit))
            continue
        try:
            lifecycle.thaw(run.world, warm.instance)
            capacity = _search(run, warm, objective)
        finally:
            starter.stop(warm)
        yield capacity


def _search(run: RunContext[SearchProtocol], warm: WarmInstance, objective: Objective) -> Capacity:
    protocol, runner = run.protocol, TrialRunner(run)
    closed_per_s = warm.warmed.rate_per_s
    if closed_per_s <= 0:
        return _not_measured(warm.name, "no answer during the warm-up")
    observations: list[Observation] = []
    trials = 0
    trouble = None
    bounds = START_SHARE * closed_per_s, LOWEST_SHARE * closed_per_s
    step = next_step(observations, *bounds)
    while step.next_rate is not None and trials < TRIALS_MAX:
        rate_per_s = step.next_rate
        run.listen(Progress(f"{warm.name}: offering {rate_per_s:,.0f}/s", done=trials))
        trials += 1
        spec = replace(
            load_spec(protocol, warm.instance, max(protocol.connections)),
            rate_per_s=rate_per_s,
            duration_s=max(protocol.duration_s, 1.1 * objective.requests_needed() / rate_per_s),
            seed=trials,
        )
        context = run.trial_context(warm, protocol.workload_names[0], "capacity", trials)
        record = runner.measure(warm, spec, context)
        if (held := objective.holds(record)) is not None:
            observations.append(Observation(rate_per_s, held))
        if lifecycle.ended(run.world, warm.instance) is not None:
            trouble = record.reason
            break
        step = next_step(observations, *bounds)
    above = None if math.isinf(step.high) else step.high
    if trouble is None and step.next_rate is not None:
        disturbed = trials - len(observations)
        trouble = f"no precise result after {TRIALS_MAX} trials, {disturbed} of them disturbed"
    return Capacity(
        name=warm.name, rate_per_s=step.low, above_per_s=above, trials=trials, trouble=trouble
    )


def _not_measured(name: str, trouble: str) -> Capacity:
    return Capacity(name=name, rate_per_s=0.0, above_per_s=None, trials=0, trouble=trouble)


@dataclass(frozen=True)
class Observation:
    """One open-loop trial: the offered rate, and whether the objective held."""

    rate: float
    held: bool


@dataclass(frozen=True)
class SearchStep:
    """The bounds of the capacity so far, and the next rate to try.

    The capacity lies between `low` (highest rate that held; 0 if none did) and `high`
    (lowest rate that failed; infinite if none did). `next_rate` is None once the search is over.
    """

    low: float
    high: float
    next_rate: float | None


def next_step(
    observations: Sequence[Observation], first_rate: float, lowest_rate: float
) -> SearchStep:
    """The next rate to offer, given all `observations` so far, in any order.

    Grow (or shrink) until one rate holds and another fails, then bisect the gap on logs. A
    rate fails if it failed in most of its trials, and a first failure is always tried once
    more: one stall of a noisy machine is not a limit.
    """
    held, failed = (
        Counter(trial.rate for trial in observations if trial.held is outcome)
        for outcome in (True, False)
    )
    rates = held.keys() | failed.keys()
    high = min((rate for rate in rates if failed[rate] > held[rate]), default=math.inf)
    low = max((rate for rate in rates if held[rate] > failed[rate] and rate < high), default=0.0)
    unconfirmed = [
        rate
        for rate in rates
        if low < rate <= high and (held[rate], failed[rate]) in ((0, 1), (1, 1))
    ]
    if unconfirmed:
        return SearchStep(low, high, min(unconfirmed))
    if math.isinf(high):
        return SearchStep(low, high, low * GROWTH if low else first_rate)
    if low == 0:
        lower = max(high / GROWTH, lowest_rate) if high > lowest_rate else None
        return SearchStep(low, high, lower)
    return SearchStep(low, high, math.sqrt(low * high) if high / low > 1 + PRECISION else None)
