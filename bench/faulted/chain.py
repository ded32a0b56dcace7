"""A chain: one race that is disturbed, resumed, disturbed again, and at last left in peace."""

import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.faulted.attempt import Injection, Outcome, attempt, record
from bench.faulted.matrix import CONTAINMENTS, OCCURRENCES, Fault
from bench.faulted.sandbox import CATALOG, Sandbox, sandbox
from deadheat.store import Store
from deadheat.store.listing import RunSummary, run_summaries

PROTOCOL = ("--protocol", str(CATALOG / "protocols" / "faults.toml"))
NEW = ("run", "alpha", "beta", *PROTOCOL)
SERVER = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); "
    "from bench.faulted.moody_transports import main; main()"
)
OVER_TLS = (*NEW, "--transport", "https")
OVER_HTTP_2 = (
    *("run", *PROTOCOL, "--transport", "h2", "--streams", "3", "--", sys.executable, "-c", SERVER),
    *("good", "h2", os.devnull, "127.0.0.1", "{port}", "{cert}", "{key}"),
)
REGRESS = (
    *("regress", "--base", "HEAD~1", "--build", "sleep 0.3", *PROTOCOL, "--margin", "30%"),
    *("--", "python3", "-I", "-S", "answer.py", "127.0.0.1", "{port}"),
)
RESUMED = {"interrupted", "failed", "lost"}
ERRORS = (1, 2)  # exit codes of commands that could not begin
NOT_STORED = "before all its contenders were stored"  # a fault came too early to resume the run
MORE = "7s"  # for a new race that spent its budget on starts, as on a busy machine
CGROUPS_SHARE = 0.7  # of the chains; the others use the other ways to contain processes


class Chain:
    """Injects faults of one kind into runs of one store, and checks the store after each."""

    def __init__(self, root: Path, faults: Sequence[Fault], seed: int) -> None:
        self._faults = list(faults)
        self._order = random.Random(seed)
        self._rates: dict[int, float | None] = {}  # of every acknowledged trial
        self._root = root
        self._seed = seed
        others = CONTAINMENTS[1:]
        in_cgroup = self._order.random() < CGROUPS_SHARE and self._faults[0].kind != "user"
        self.containment = CONTAINMENTS[0] if in_cgroup else self._order.choice(others)

    def run(self, is_late: Callable[[], bool]) -> list[dict[str, Any]]:
        """The cases: each fault with what went wrong. No fault begins when it is late."""
        root = Path(tempfile.mkdtemp(prefix="chain-", dir=self._root))
        cases: list[dict[str, Any]] = []
        with sandbox(root, self._faults[0].kind) as place:
            for fault in self._faults:
                if is_late():
                    break
                outcome = self._disturb(place, fault)
                if outcome is not None:
                    case = record(fault, outcome) | {"seed": self._seed}
                    cases.append(case | {"containment": self.containment, "trials": 0})
            if cases:
                cases[-1]["failures"] += self._finish(place)
                cases[-1]["trials"] = len(self._rates)
        return cases

    def _disturb(self, place: Sandbox, fault: Fault) -> Outcome | None:
        """None if the command ended before the fault could be injected, which is tried twice."""
        for is_first in (True, False):
            if fault.moment == "build":
                shutil.rmtree(place.home / "builds", ignore_errors=True)
                shutil.rmtree(place.home / "revisions", ignore_errors=True)
            outcome = self._attempt(place, fault, is_first)
            if fault.kind == "disk":
                place.free_disk()
            outcome.failures += self._lost(place)
            if not outcome.injected and outcome.code in ERRORS and NOT_STORED not in outcome.stderr:
                outcome.failures.append(f"ended with {outcome.code} by itself: {outcome.stderr}")
            if outcome.injected or outcome.failures:
                return outcome
        return None

    def _attempt(self, place: Sandbox, fault: Fault, at_random: bool) -> Outcome:
        """Hit the moment when it comes for the first time, or at random one of the next."""
        number = self._order.randint(1, OCCURRENCES[fault.moment]) if at_random else 1
        injection = Injection(fault, number, self._order)
        arguments = self._arguments(place)
        return attempt(place, arguments, self.containment, self._rates, injection)

    def _arguments(self, place: Sandbox) -> tuple[str, ...]:
        """Resume the last run if it is not complete, and had its contenders stored."""
        if place.repository.exists():
            return REGRESS
        last, own = last_run(place), 1 if place.kind == "http2" else 2
        if last is None or last.state not in RESUMED or not (last.trials or last.contenders == own):
            return _new(place)
        return ("resume", last.run_id)

    def _finish(self, place: Sandbox) -> list[str]:
        """Run to the end without a fault: the run has to be complete, and nothing is left."""
        arguments = self._arguments(place)
        outcome = attempt(place, arguments, self.containment, self._rates)
        if outcome.code == 1 and NOT_STORED in outcome.stderr:
            arguments = _new(place)
            outcome = attempt(place, arguments, self.containment, self._rates)
        failures = [f"at the end: {failure}" for failure in outcome.failures]
        last = last_run(place)
        is_over = last is not None and last.state == "complete" and arguments[0] == "run"
        if last is not None and is_over and _unmeasured(place, last.run_id):
            arguments = ("resume", last.run_id, "--more", MORE)
            outcome = attempt(place, arguments, self.containment, self._rates)
            failures += [f"with more time: {failure}" for failure in outcome.failures]
            last = last_run(place)
        if outcome.code not in (0, 3, 4) or last is None or last.state != "complete":
            state = last.state if last else "no run"
            failures.append(f"{arguments[0]} ended with {outcome.code}: {state}: {outcome.stderr}")
        elif names := _unmeasured(place, last.run_id):
            failures.append(f"no trial of {names} in the complete run: {outcome.stderr}")
        return failures + self._lost(place) + [f"left {file}" for file in place.unfinished()]

    def _lost(self, place: Sandbox) -> list[str]:
        """The acknowledged trials that the store does not have as they were."""
        if not self._rates:
            return []
        with Store(place.store, read_only=True) as store:
            rows = store.rows("SELECT id, rate_per_s FROM trial")
        stored = {row["id"]: row["rate_per_s"] for row in rows}
        lost = [i for i, rate in self._rates.items() if i not in stored or stored[i] != rate]
        return [f"lost trials {lost}"] if lost else []


def _new(place: Sandbox) -> tuple[str, ...]:
    return {"tls": OVER_TLS, "http2": OVER_HTTP_2}.get(place.kind, NEW)


def last_run(place: Sandbox) -> RunSummary | None:
    """The run that began last; None if there is none."""
    if not place.store.exists():
        return None
    with Store(place.store, read_only=True) as store:
        return next(iter(run_summaries(store)), None)


def _unmeasured(place: Sandbox, run_id: str) -> list[str]:
    """The contenders and controls of a run without a trial that went well."""
    query = (
        "SELECT name FROM contender WHERE run_id = ? AND id NOT IN"
        " (SELECT contender_id FROM trial WHERE state = 'ok')"
    )
    with Store(place.store, read_only=True) as store:
        return [row["name"] for row in store.rows(query, run_id)]
