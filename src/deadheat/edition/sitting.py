"""A sitting of `deadheat board race`: goes on with an edition until nothing or no time is left."""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deadheat import numbers
from deadheat.campaign.campaign import Plan
from deadheat.catalog import selection
from deadheat.edition.parts import (
    ENDED,
    FIRST_PASS,
    INSTANCE_SD,
    BoardState,
    PlannedPart,
    Racer,
    Spread,
    done_of,
    estimate_of,
    open_parts,
    parts_of,
    separates,
    shared_of,
    together_of,
    unranked_parts,
    with_budget,
)
from deadheat.errors import DeadheatError, StoreError, Unmeasurable, first_line
from deadheat.events import Board, Event, Listener, Progress
from deadheat.host.local import LocalHost
from deadheat.output import echo
from deadheat.protocol import SliceProtocol
from deadheat.store import Store
from deadheat.store.bundle import export_run
from deadheat.store.listing import RacedContender, raced_contenders, run_summaries

STORE, BUNDLES, PAGES = "runs.sqlite", "bundles", "board"
RESUMED = ("interrupted", "lost", "unended")  # the states of runs that a sitting goes on with
PART_BYTES = 16 << 20  # in the store, as a bundle and as a page
AGAIN = "it is started again"  # the last of several tries says what was wrong
FAILURES_MAX = 3  # in a row: then the machine is at fault, not a server
TOGETHER = 10
DETECTED_MAX = 10.0  # of a rate: a larger difference needs no race


def brief(listen: Listener) -> Listener:
    """Events as one line each: an edition has many servers."""

    def listen_briefly(event: Progress | Event | Board) -> None:
        if isinstance(event, Event):
            if AGAIN in event.what:
                return
            event = Event(event.what.partition("\n")[0], event.trouble)
        listen(event)

    return listen_briefly


@dataclass(slots=True)
class Sitting:
    """One call: goes on where the runs of the folder end, until nothing is left or time is up.

    `run_options` are those of `deadheat run` that every part has. `carry_out` carries out a plan
    and returns the id of the run, `rest_of` is the plan of what is left of a run, and `write`
    writes the pages; it returns None without a rate.
    """

    folder: Path
    rules: SliceProtocol
    run_options: tuple[str, ...]
    racers: dict[str, Racer]
    budget_s: float | None
    most_together: int
    named: tuple[str, ...]
    carry_out: Callable[[Plan], str]
    rest_of: Callable[[str], Plan]
    write: Callable[[], BoardState | None]
    begun_s: float = field(default_factory=time.monotonic)
    failures: int = 0  # of parts, in a row
    written: BoardState | None = None
    is_stale: bool = True  # a run came after the pages were written

    @property
    def store_path(self) -> Path:
        return self.folder / STORE

    def run(self) -> tuple[bool, bool]:
        """Whether it was interrupted, and whether the board has a rate."""
        state = self._state() if self._raced() else None
        shared, parts = self._left()
        spread = state.spread if state else Spread()
        self._announce(shared, parts, spread)
        interrupted = self._resume() or self._race_all() or self._race_open()
        self._export()
        state = self._state()
        left = self._left()[1]
        if state is not None:
            echo(state.separates)
            if state.open_pairs:
                echo(f"open        {numbers.count(len(state.open_pairs), 'pair')} of neighbors")
            if state.unranked:
                echo(f"unranked    {numbers.count(len(state.unranked), 'cell')}")
        if left:
            cells = sum(part.cells(self.racers) for part in left)
            echo(f"left        {numbers.count(cells, 'cell')}; the same command goes on")
        if state is not None:
            echo(f"board       {self.folder / PAGES / 'index.html'}")
        return interrupted, state is not None

    @property
    def left_s(self) -> float:
        """The time that is left; without a budget as much as every part needs."""
        if self.budget_s is None:
            return float("inf")
        return self.begun_s + self.budget_s - time.monotonic()

    def _state(self) -> BoardState | None:
        """What the board says; its pages are written anew only after a run."""
        if self.is_stale:
            self.written, self.is_stale = self.write(), False
        return self.written

    def _raced(self) -> list[RacedContender]:
        if not self.store_path.exists():
            return []
        with Store(self.store_path) as store:
            return raced_contenders(store)

    def _left(self) -> tuple[tuple[str, ...], list[PlannedPart]]:
        """The shared servers, and the parts that no run has: as small as the time left needs."""
        raced = self._raced()
        shared = shared_of(self.racers, raced, self.named)
        with LocalHost() as host:
            free_bytes = host.unwatch(host.watch((), 1.0))[-1].memory_available_bytes
        together = together_of(free_bytes, raced, self.most_together, len(shared))
        done = done_of(self.racers, raced, self.rules)
        while True:
            parts = parts_of(self.racers, done, shared, together)
            if together == 1 or not parts or max(map(self._useful_s, parts)) <= self.left_s:
                return shared, parts
            together = (together + 1) // 2

    def _rules_of(self, part: PlannedPart, budget_s: float) -> SliceProtocol:
        workloads = tuple(w for w in self.rules.workloads if w.name in part.workloads)
        rules = self.rules.model_copy(update={"workloads": workloads})
        return with_budget(rules, budget_s)

    def _useful_s(self, part: PlannedPart) -> float:
        """The time from which on a part gives each of its servers an interval."""
        each = estimate_of(part, self.racers, self._rules_of(part, 300.0))
        return max(each.useful_s, 10.0)

    def _budget_of(self, part: PlannedPart, parts: Sequence[PlannedPart]) -> float:
        """Its share of the first pass by its cells; at least what is useful."""
        useful_s = self._useful_s(part)
        if self.budget_s is None:
            return 2 * useful_s
        cells = part.cells(self.racers) / max(sum(p.cells(self.racers) for p in parts), 1)
        pass_s = self.left_s - (1 - FIRST_PASS) * self.budget_s
        return max(useful_s, pass_s * cells)

    def _announce(
        self, shared: Sequence[str], parts: Sequence[PlannedPart], spread: Spread
    ) -> None:
        """What will be raced, what it takes, and what the budget can separate.

        Raises `DeadheatError` where the disk does not hold it.
        """
        cells = sum(part.cells(self.racers) for part in parts)
        count = numbers.count(len(parts), "part")
        echo(f"to race     {numbers.count(cells, 'cell')} of servers by workloads in {count}")
        if not parts:
            return
        largest = max(parts, key=lambda part: len(part.names))
        echo(f"linked by   {', '.join(shared)}; up to {len(largest.names)} servers in a part")
        needed, free = len(parts) * PART_BYTES, shutil.disk_usage(self.folder).free
        echo(f"disk        about {needed >> 20:,} MiB for runs; {free >> 20:,} MiB are free")
        if needed > free:
            raise DeadheatError(
                f"{self.folder} has too little space for {count}",
                "free space there, name another folder with --output, or fewer servers",
            )
        least_s = sum(map(self._useful_s, parts))
        budget_s = 2 * least_s if self.budget_s is None else self.budget_s
        echo(
            f"time        {numbers.duration(least_s)} at least; this sitting has "
            f"{numbers.duration(budget_s)}"
        )
        part_s = self._budget_of(largest, parts)
        each = estimate_of(largest, self.racers, self._rules_of(largest, part_s))
        inside, across = separates(
            largest, each, self.rules.slices.rounds, len(shared), len(self.racers), spread
        )
        known = (
            "by the runs so far"
            if spread.measured
            else f"if starts differ by {numbers.percent(INSTANCE_SD, 0)}"
        )
        sizes = (
            f"{numbers.percent(inside)} within a part and {numbers.percent(across)} across parts"
        )
        least = f"differences of about {sizes}" if across < DETECTED_MAX else "almost nothing"
        echo(f"separates   {least}, {known}")
        if budget_s < least_s:
            echo("            the budget is too short for all parts: a later sitting goes on")

    def _resume(self) -> bool:
        """Go on with runs that a stop has left; returns whether this one was stopped too."""
        if not self.store_path.exists():
            return False
        with Store(self.store_path) as store:
            runs = [each for each in run_summaries(store) if each.state in RESUMED]
        for summary in runs:
            if not summary.trials or self.left_s <= 0:
                continue
            try:
                plan = self.rest_of(summary.run_id)
            except DeadheatError as error:
                echo(f"! {first_line(error)}", err=True)
                continue
            echo(f"resumes     run {summary.run_id}")
            if self._carry_out(plan):
                return True
        return False

    def _race_all(self) -> bool:
        """Race each part that no run has; returns whether it was stopped."""
        tried: set[PlannedPart] = set()
        while True:
            parts = [part for part in self._left()[1] if part not in tried]
            if not parts or self.left_s < self._useful_s(parts[0]):
                return False
            tried.add(parts[0])
            if self._race(parts[0], self._budget_of(parts[0], parts)):
                return True

    def _race_open(self) -> bool:
        """Race what the board leaves open, as long as the budget lasts.

        Servers without a rank come first, once in a sitting: noise may have cost them their links.
        Then come undecided neighbors, those raced least first.
        """
        times: Counter[tuple[str, ...]] = Counter()
        tried: set[tuple[str, str]] = set()
        while self.budget_s is not None:
            state = self._state()
            cells = [each for each in (state.unranked if state else ()) if each not in tried]
            shared = shared_of(self.racers, self._raced(), self.named)
            parts = unranked_parts(cells, self.racers, shared, self.most_together)
            tried |= {(w, n) for part in parts[:1] for w in part.workloads for n in part.names}
            if not parts:
                pairs = state.open_pairs if state else ()
                parts = open_parts(pairs, self.racers, self.most_together)
            parts = [part for part in parts if self._useful_s(part) <= self.left_s]
            if not parts:
                return False
            part = min(parts, key=lambda part: times[part.workloads + part.names])
            times[part.workloads + part.names] += 1
            budget_s = max(self._useful_s(part), self.left_s / len(parts))
            if self._race(part, min(budget_s, self.left_s)):
                return True
        return False

    def _race(self, part: PlannedPart, budget_s: float) -> bool:
        workloads, names = ",".join(part.workloads), ", ".join(part.names)
        echo(f"part        {names}: {workloads}, {numbers.duration(budget_s)}")
        words = ["--workload", workloads, "--budget", f"{budget_s:.0f}s"]
        command = ["deadheat", "run", *part.names, *words, "--connections"]
        command += [",".join(map(str, self.rules.connections)), *self.run_options]
        plan = Plan(
            protocol=self._rules_of(part, budget_s),
            selections=[selection(self.racers[name].selection.server) for name in part.names],
            labels={},
            extra=[],
            seed=time.time_ns() % 2**31,
            command=command,
        )
        return self._carry_out(plan)

    def _carry_out(self, plan: Plan) -> bool:
        """Carry out one run, and keep its bundle; returns whether it was stopped.

        A run that fails costs a line. Raises what ended the last of several that failed in a row.
        """
        self.is_stale = True
        try:
            run_id = self.carry_out(plan)
        except KeyboardInterrupt:
            return True
        except (DeadheatError, Unmeasurable) as error:
            self.failures += 1
            if self.failures >= FAILURES_MAX:
                raise
            echo(f"! {first_line(error)}", err=True)
            return False
        self.failures = 0
        self._export()
        with Store(self.store_path) as store:
            states = {each.run_id: each.state for each in run_summaries(store)}
        return states[run_id] != ENDED  # a second interrupt may prevent the state's change

    def _export(self) -> None:
        """A bundle of each run that is over and has none."""
        if not self.store_path.exists():
            return
        bundles = self.folder / BUNDLES
        with Store(self.store_path) as store:
            for run in run_summaries(store):
                bundle = bundles / f"{run.run_id}.deadheat"
                if run.state == ENDED and run.trials and not bundle.exists():
                    try:
                        export_run(store, run.run_id, bundle)
                    except StoreError as error:  # the store has the run: a later call tries again
                        echo(f"! {first_line(error)}", err=True)
