"""Invalid trials in a row: a contender is out, or the race ends."""

from collections import Counter

from deadheat.errors import Unmeasurable
from deadheat.measure.gates.pooled import failures
from deadheat.store import TrialRecord

TRIALS_MAX = 10  # invalid ones in a row
BLOCKS_MIN = 3  # that they spread over: one disturbance can fail all trials of a block
OF_THE_MACHINE = frozenset({"neighbor", "steal", "frequency", "client_wait"})


class InvalidStreak:
    """Counts the invalid trials of contenders in a row.

    The blocks of a race in slices are numbered through. Those of trials begin anew with each
    invocation.
    """

    def __init__(self, sliced: bool = False) -> None:
        self._sliced = sliced
        self._trials: list[tuple[str, str, str]] = []  # contender, what failed, the advice
        self._blocks: set[tuple[int, int]] = set()

    def note(self, name: str, record: TrialRecord, others_valid: bool) -> str | None:
        """Take in a trial of a contender; the reason if this contender is out.

        Raises `Unmeasurable` if the race is to end. A contender whose trials alone fail, not
        because of the machine, is out instead, if `others_valid`: others have valid trials.
        """
        failure = _failure(record)
        if failure is None:
            self._clear()
            return None
        self._trials.append((name, *failure))
        self._blocks.add((0 if self._sliced else record.invocation, record.block))
        if len(self._trials) < TRIALS_MAX or len(self._blocks) < BLOCKS_MIN:
            return None
        counts = Counter((what, advice) for _, what, advice in self._trials)
        (what, advice), trials = counts.most_common(1)[0]
        alone = {contender for contender, *_ in self._trials} == {name}
        if alone and others_valid and what not in OF_THE_MACHINE:
            reason = f"its last {len(self._trials)} trials were invalid, {trials} by {_check(what)}"
            self._clear()
            return reason
        raise Unmeasurable(
            f"the last {len(self._trials)} trials were all invalid, so the run was stopped: "
            f"{trials} failed by {_check(what)}",
            f"{advice}; `deadheat report -v` shows every check",
        )

    def _clear(self) -> None:
        self._trials.clear()
        self._blocks.clear()


def _failure(record: TrialRecord) -> tuple[str, str] | None:
    """The gate or the fault that makes a trial invalid, and the advice; None if it is valid."""
    if record.state != "ok":
        lines = (record.reason or "").splitlines() or ["no reason stored"]
        return lines[0], "`deadheat verify` starts and checks a server by itself"
    failed = failures(record)
    if not failed:
        return None
    return failed[0].code, failed[0].advice or "`deadheat doctor` checks this machine"


def _check(what: str) -> str:
    return what if " " in what else f"the check {what}"
