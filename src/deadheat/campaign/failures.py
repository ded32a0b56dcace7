"""What goes wrong with trials, and what a race makes of it.

A failure makes a trial invalid. After too many of them in a row, a contender is out, the race waits
until the machine is quiet, or it ends.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from deadheat import numbers
from deadheat.campaign.past import level_of
from deadheat.campaign.run import RaceContext
from deadheat.errors import DeadheatError, Unmeasurable
from deadheat.events import Event, Listener, Progress
from deadheat.host import Host
from deadheat.host.cpu_time import Quietness, read_quietness
from deadheat.measure.gates.pooled import failures
from deadheat.measure.world import World, by_role
from deadheat.store import TrialRecord

# The gates that read the machine, the client's CPU or the link. A server cannot help them.
OF_THE_MACHINE = frozenset(
    {
        *("neighbor", "steal", "throttled", "frequency", "client_wait", "send_lag"),
        *("retransmits", "network", "skew"),
    }
)
TRIALS_MAX = 10  # invalid ones in a row
BLOCKS_MIN = 3  # that they spread over: one disturbance can fail all trials of a block
WAIT_SHARE_MAX = 0.1  # of the budget: a machine that stays noisy is measured as it is
PAUSE_S = 4.0  # between two readings of a noisy machine


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
        return Failure(lines[0], "its last words are printed above")
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
        tally.advice[check],
    )


def none_left(out: Mapping[str, str], hint: str) -> DeadheatError:
    """The error of a race that every contender left."""
    reasons = [why for why in out.values() if why]
    more = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
    why = f": {reasons[0].splitlines()[0]}{more}" if reasons else ""
    return DeadheatError(f"no contender is left to measure{why}", hint)


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

    A race with a budget may wait until the machine is quiet.
    """

    def __init__(self, has_budget: bool = False) -> None:
        self._has_budget = has_budget
        self._trials: list[tuple[str, Failure]] = []  # contender, and why it is invalid
        self._blocks: set[int] = set()

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
        self._blocks.add(record.block)
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
            failure.advice,
        )

    def _clear(self) -> None:
        self._trials.clear()
        self._blocks.clear()


class Troubles:
    """Every failed trial is an event, and each gate the first time it fails: the report has all."""

    def __init__(self, listen: Listener) -> None:
        self._listen = listen
        self._reported: set[str] = set()

    def report(self, name: str, record: TrialRecord) -> None:
        level = level_of(record)
        if record.state == "failed":
            text = f"{name} at {level}: {record.reason}"
            self._listen(Event(text, trouble=True))
        for gate in failures(record):
            if gate.code not in self._reported:
                self._reported.add(gate.code)
                text = f"{name} at {level}: check {gate.code} failed: {gate.advice}"
                self._listen(Event(text, trouble=True))


def wait_until_quiet(run: RaceContext, trouble: str, left_s: float) -> None:
    """Wait until no machine is busy, for a part of the budget; then the race goes on anyway.

    `trouble` says what failed. `left_s` is what is left of the budget.
    """
    clock = run.world.server_host
    begun_s = clock.now_s()
    most_s = min(WAIT_SHARE_MAX * run.ends_s, left_s)
    busy = _busy(run.world)
    if busy is None:
        run.listen(Event(f"{trouble}: the machine is quiet now, so the race goes on", trouble=True))
        return
    longest = numbers.duration(round(most_s))
    text = f"{trouble}: {busy}; the race waits up to {longest} until it is quiet"
    run.listen(Event(text, trouble=True))
    while busy is not None and clock.now_s() - begun_s + PAUSE_S < most_s:
        waited_s = clock.now_s() - begun_s
        run.listen(Progress("waiting until the machine is quiet", left_s=most_s - waited_s))
        clock.sleep(PAUSE_S)
        busy = _busy(run.world)
    waited = numbers.duration(round(clock.now_s() - begun_s))
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
