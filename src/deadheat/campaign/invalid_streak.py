"""Invalid trials in a row: a contender is out, the race waits, or it ends."""

from collections import Counter
from dataclasses import dataclass

from deadheat.campaign.failures import Failure, failure_of
from deadheat.errors import Unmeasurable
from deadheat.store import TrialRecord

TRIALS_MAX = 10  # invalid ones in a row
BLOCKS_MIN = 3  # that they spread over: one disturbance can fail all trials of a block


@dataclass(frozen=True, slots=True)
class Out:
    """A contender is out, for this reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Noisy:
    """The machine disturbs the race; `text` says which check failed how often."""

    text: str


class InvalidStreak:
    """Counts the invalid trials of contenders in a row.

    The blocks of a race in slices are numbered through. Those of trials begin anew with each
    invocation. A race with a budget may wait until the machine is quiet.
    """

    def __init__(self, sliced: bool = False, has_budget: bool = False) -> None:
        self._sliced = sliced
        self._has_budget = has_budget
        self._trials: list[tuple[str, Failure]] = []  # contender, and why it is invalid
        self._blocks: set[tuple[int, int]] = set()

    def note(self, name: str, record: TrialRecord, others_valid: bool) -> Out | Noisy | None:
        """Take in a trial of a contender; says if it is out, or if the machine is noisy.

        Raises `Unmeasurable` if the race is to end: nothing but the servers' own faults, of all of
        them, or the machine's without a budget to wait in. A contender whose trials alone fail by
        its own fault is out instead, if `others_valid`: others have valid trials.
        """
        failure = failure_of(record)
        if failure is None:
            self._clear()
            return None
        self._trials.append((name, failure))
        self._blocks.add((0 if self._sliced else record.invocation, record.block))
        if len(self._trials) < TRIALS_MAX or len(self._blocks) < BLOCKS_MIN:
            return None
        in_all = len(self._trials)
        failure, trials = Counter(each for _, each in self._trials).most_common(1)[0]
        alone = {contender for contender, _ in self._trials} == {name}
        self._clear()
        if alone and others_valid and not failure.of_the_machine:
            return Out(f"its last {in_all} trials were invalid, {trials} by {failure.check}")
        if self._has_budget and failure.of_the_machine:
            return Noisy(f"the last {in_all} trials were invalid, {trials} by {failure.check}")
        raise Unmeasurable(
            f"the last {in_all} trials were all invalid, so the run was stopped: "
            f"{trials} failed by {failure.check}",
            f"{failure.advice}; `deadheat report -v` shows every check",
        )

    def _clear(self) -> None:
        self._trials.clear()
        self._blocks.clear()
