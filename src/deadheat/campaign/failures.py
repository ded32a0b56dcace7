"""Why trials do not count, and what a race says that ends without one that does."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from deadheat.errors import DeadheatError, Unmeasurable
from deadheat.measure.gates.pooled import failures
from deadheat.store import TrialRecord

# The gates that read the machine, the client's CPU or the link. A server cannot help them.
OF_THE_MACHINE = frozenset(
    {"neighbor", "steal", "frequency", "client_wait", "send_lag", "retransmits", "network", "skew"}
)


@dataclass(frozen=True, slots=True)
class Failure:
    """What makes a trial invalid: a gate's code or a fault, and the advice."""

    what: str
    advice: str

    @property
    def of_the_machine(self) -> bool:
        return self.what in OF_THE_MACHINE

    @property
    def check(self) -> str:
        """`the check steal`, or the fault."""
        return self.what if " " in self.what else f"the check {self.what}"


def failure_of(record: TrialRecord) -> Failure | None:
    """The gate or the fault that makes a trial invalid; None if it is valid.

    A gate of the machine comes first: it may be the cause of the others.
    """
    if record.state != "ok":
        lines = (record.reason or "").splitlines() or ["no reason stored"]
        return Failure(lines[0], "`deadheat verify` starts and checks a server by itself")
    failed = sorted(failures(record), key=lambda gate: gate.code not in OF_THE_MACHINE)
    if not failed:
        return None
    gate = failed[0]
    return Failure(gate.code, gate.advice or "`deadheat doctor` checks this machine")


@dataclass(slots=True)
class Tally:
    """The trials of contenders so far: how many are valid, why others are not, and who is out."""

    trials: int = 0
    valid: int = 0
    failures: Counter[str] = field(default_factory=Counter)  # by `Failure.check`
    advice: dict[str, str] = field(default_factory=dict)  # the first of each check
    out: dict[str, str] = field(default_factory=dict)  # contender -> why

    def add(self, record: TrialRecord) -> None:
        self.trials += 1
        failure = failure_of(record)
        if failure is None:
            self.valid += 1
            return
        self.failures[failure.check] += 1
        self.advice.setdefault(failure.check, failure.advice)


def require_valid(tally: Tally) -> None:
    """Raises `Unmeasurable` with the most frequent cause if no trial is valid."""
    if tally.valid:
        return
    if not tally.trials:
        raise Unmeasurable(
            "nothing was measured: the race ended before its first block", "use a longer --budget"
        )
    (check, trials), *_ = tally.failures.most_common(1)
    raise Unmeasurable(
        f"no ranking: none of {tally.trials} trials is valid, {trials} failed by {check}",
        f"{tally.advice[check]}; `deadheat report -v` shows every check",
    )


def none_left(out: Mapping[str, str], hint: str) -> DeadheatError:
    """The error of a race that every contender left."""
    reasons = [why for why in out.values() if why]
    more = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
    why = f": {reasons[0].splitlines()[0]}{more}" if reasons else ""
    return DeadheatError(f"no contender is left to measure{why}", hint)
