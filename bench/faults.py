"""Disturbs short races with signals, a full disk and clock steps, and checks what is left.

    python -m bench.faults --kills 40 --minutes 4 [--seed 1] [--json FILE] [--only WORD]
    python -m bench.faults --again FILE
    python -m bench.faults --merge PART.json ... --json FILE
    python -m bench.faults --show FILE

Each case hits one part of a race (target) with one fault (signal) in one moment. The next command
resumes the race, and a last one completes it. A case fails if an acknowledged trial is lost, if a
process, cgroup, listening socket or file is left, at a traceback, at an exit code that the
documents do not have, if a command takes longer than two minutes, or if the race cannot be
completed. `--json` adds the cases, their seeds and versions, and the command to the file; faults
with the fewest cases come first. `--again` repeats the chains that failed, with their seeds. Chains
during which this process itself was stopped are left out, and counted.
"""

import argparse
import json
import random
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.faulted.chain import Chain
from bench.faulted.matrix import MOMENTS, PAGES, TRANSPORTS, Fault, fewest_first
from bench.faulted.pages import Pages
from bench.faulted.sandbox import refusal
from bench.faulted.transports import Transports
from deadheat import __version__
from deadheat.campaign.run import STANDSTILLS

CHAIN_LENGTH = 4
END_S = 60.0  # before the time is over, when no fault begins any more

Case = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Cases, and the commands and seeds they come from."""

    cases: Sequence[Case] = ()
    parts: Sequence[Mapping[str, Any]] = ()

    def and_(self, other: "Outcome") -> "Outcome":
        return Outcome([*self.cases, *other.cases], [*self.parts, *other.parts])


def main() -> int:
    arguments = _arguments()
    if arguments.show:
        print(table(read(arguments.show).cases))
        return 0
    stored = Outcome()
    if arguments.json and arguments.json.exists():
        stored = read(arguments.json)
    if arguments.merge:
        new = Outcome()
        for path in arguments.merge:
            new = new.and_(read(path))
    else:
        new = _run(arguments, stored.cases)
    if arguments.json:
        write(arguments.json, stored.and_(new))
    print(table(new.cases))
    return 1 if any(case["failures"] for case in new.cases) else 0


def _run(arguments: argparse.Namespace, before: Sequence[Case]) -> Outcome:
    end_s = time.monotonic() + 60 * arguments.minutes - min(END_S, 30 * arguments.minutes)
    order = random.Random(arguments.seed)
    if arguments.again:
        chains = failed_chains(read(arguments.again).cases)
    else:
        chains = new_chains(arguments.kills, order, before, arguments.only)
    cases, stopped = run(chains, arguments.jobs, end_s)
    version = f"{__version__} at {_commit()}"
    cases = [case | {"version": version} for case in cases]
    part = {"seed": arguments.seed, "command": _command(), "cases": len(cases), "stopped": stopped}
    return Outcome(cases, [part])


def _command() -> str:
    return shlex.join(["python", "-m", "bench.faults", *sys.argv[1:]])


def _commit() -> str:
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def new_chains(
    kills: int, order: random.Random, before: Sequence[Case] = (), only: str = ""
) -> list[tuple[list[Fault], int]]:
    """Chains of faults with a seed for each: this many faults, those with the fewest cases first.

    Prints what this machine cannot do, which is left out.
    """
    counts = Counter(Fault(case["target"], case["signal"], case["moment"]) for case in before)
    wanted = [fault for fault in fewest_first(counts, order) if only in _name(fault)]
    for kind in sorted({fault.kind for fault in wanted}):
        if (reason := refusal(kind)) is not None:
            print(f"left out: {kind}: {reason}", file=sys.stderr)
            wanted = [fault for fault in wanted if fault.kind != kind]
    wanted = (wanted * (1 + kills // max(1, len(wanted))))[:kills]
    return [(part, order.randrange(2**32)) for part in _chains(wanted)]


def failed_chains(cases: Sequence[Case]) -> list[tuple[list[Fault], int]]:
    """The chains with a failed case, to be repeated with their seeds."""
    faults: defaultdict[int, list[Fault]] = defaultdict(list)
    for case in cases:
        faults[case["seed"]].append(Fault(case["target"], case["signal"], case["moment"]))
    seeds = {case["seed"]: None for case in cases if case["failures"]}
    return [(faults[seed], seed) for seed in seeds]


def run(
    chains: Sequence[tuple[Sequence[Fault], int]], jobs: int, end_s: float
) -> tuple[list[Case], int]:
    """The cases of the chains that begin in time; prints each that fails.

    Then the number of cases that are left out because this process, too, was stopped meanwhile.
    """
    cases: list[Case] = []
    stopped = 0
    stood_before_s = STANDSTILLS.total_s()

    def is_late() -> bool:
        return time.monotonic() - (STANDSTILLS.total_s() - stood_before_s) > end_s

    with (
        tempfile.TemporaryDirectory(prefix="deadheat-faults-") as root,
        ThreadPoolExecutor(jobs) as pool,
    ):

        def conduct(faults: Sequence[Fault], seed: int) -> tuple[list[Case], bool]:
            stood_s = STANDSTILLS.total_s()
            kind = faults[0].kind
            makes = Pages if kind in PAGES else Transports if kind in TRANSPORTS else Chain
            cases = makes(Path(root), faults, seed).run(is_late)
            return cases, STANDSTILLS.total_s() > stood_s

        for done in as_completed([pool.submit(conduct, *chain) for chain in chains]):
            chain_cases, was_stopped = done.result()
            if was_stopped:
                stopped += len(chain_cases)
                print(f"left out: {len(chain_cases)} cases: stopped meanwhile", file=sys.stderr)
                continue
            for case in chain_cases:
                cases.append(case)
                if case["failures"]:
                    print(f"FAILED {json.dumps(case, indent=1)}", file=sys.stderr, flush=True)
    return cases, stopped


def _chains(wanted: Sequence[Fault]) -> Iterator[list[Fault]]:
    """The faults in lists of one kind, in their order."""
    by_kind: defaultdict[str, list[Fault]] = defaultdict(list)
    for fault in wanted:
        by_kind[fault.kind].append(fault)
        if len(by_kind[fault.kind]) == CHAIN_LENGTH:
            yield by_kind.pop(fault.kind)
    yield from by_kind.values()


def _name(fault: Fault) -> str:
    return f"{fault.target} {fault.signal} {fault.moment}"


def read(path: Path) -> Outcome:
    """The outcome in a file."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    return Outcome(stored["cases"], stored.get("parts", ()))


def write(path: Path, outcome: Outcome) -> None:
    """One line for each part and each case."""
    parts, cases = (
        ",\n".join(json.dumps(row) for row in rows) for rows in (outcome.parts, outcome.cases)
    )
    text = f'{{"parts": [\n{parts}\n],\n"cases": [\n{cases}\n]}}\n'
    path.write_text(text, encoding="utf-8")


def table(cases: Sequence[Case]) -> str:
    """Cases per target, signal and moment: `3`, or `3 (1 failed)`."""
    by_row: defaultdict[tuple[str, str], dict[str, list[Case]]] = defaultdict(
        lambda: defaultdict(list)
    )
    modes = Counter(target for target, _ in {(each["target"], each["signal"]) for each in cases})
    for case in cases:
        target = case["target"]
        signal = f"{modes[target]} modes" if target in TRANSPORTS else case["signal"]
        by_row[target, signal][case["moment"]].append(case)
    lines = [f"{'target':15} {'signal':13}" + "".join(f"{moment:>9}" for moment in MOMENTS)]
    for (target, signal), cells in sorted(by_row.items()):
        lines.append(f"{target:15} {signal:13}" + _row(cells))
    failed = sum(bool(case["failures"]) for case in cases)
    inside = sum(case["inside"] for case in cases)
    ways = Counter(case["containment"] for case in cases)
    versions = Counter(case["version"] for case in cases)
    lines += [
        "",
        f"{len(cases)} cases, {inside} of them within the moment; {failed} failed",
        "contained by " + ", ".join(f"{way} {number}" for way, number in sorted(ways.items())),
        f"{sum(case['trials'] for case in cases)} acknowledged trials checked; "
        f"{_with('lost trials', cases)} cases lost one, {_with('left ', cases)} left something",
        "by version: " + ", ".join(f"{of}: {number}" for of, number in versions.items()),
    ]
    return "\n".join(lines)


def _row(cells: Mapping[str, Sequence[Case]]) -> str:
    def text(moment: str) -> str:
        failed = sum(bool(case["failures"]) for case in cells.get(moment, ()))
        return f"{len(cells.get(moment, ())) or ''}{f' ({failed}!)' if failed else ''}"

    return "".join(f"{text(moment):>9}" for moment in MOMENTS).rstrip()


def _with(words: str, cases: Sequence[Case]) -> int:
    return sum(any(words in failure for failure in case["failures"]) for case in cases)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=40, help="Number of cases at most.")
    parser.add_argument(
        "--minutes", type=float, default=4, help="Duration, about; stops do not count."
    )
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--jobs", type=int, default=3, help="Races beside each other.")
    parser.add_argument("--only", default="", help="Only faults whose name has this.")
    parser.add_argument("--json", type=Path, help="File to which the cases are added.")
    parser.add_argument("--again", type=Path, help="Repeat the chains of a file that failed.")
    parser.add_argument("--merge", type=Path, nargs="+", help="Add the cases of these files.")
    parser.add_argument("--show", type=Path, help="Print the table of a file instead.")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
