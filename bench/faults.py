"""Disturbs short races with signals, a full disk and clock steps, and checks what is left.

    python -m bench.faults --kills 40 --minutes 4 [--seed 1] [--json FILE] [--only WORD]
    python -m bench.faults --show docs/results/faults.json

Each case hits one part of a race (target) with one fault (signal) in one moment. The next command
resumes the race, and a last one completes it. A case fails if an acknowledged trial is lost, if a
process, cgroup, listening socket or file is left, at a traceback, at an exit code that the
documents do not have, if a command takes longer than two minutes, or if the race cannot be
completed. `--json` adds the cases to those of the file; those with the fewest cases come first.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from bench.faulted.chain import Chain
from bench.faulted.matrix import MOMENTS, Fault, fewest_first
from bench.faulted.sandbox import refusal

CHAIN_LENGTH = 4
END_S = 60.0  # before the time is over, when no fault begins any more

Case = dict[str, Any]


def main() -> int:
    arguments = _arguments()
    if arguments.show:
        print(table(read(arguments.show)))
        return 0
    before = read(arguments.json) if arguments.json and arguments.json.exists() else []
    cases = run(
        arguments.kills, arguments.minutes, arguments.seed, arguments.jobs, before, arguments.only
    )
    if arguments.json:
        write(arguments.json, [*before, *cases])
    print(table(cases))
    return 1 if any(case["failures"] for case in cases) else 0


def run(
    kills: int, minutes: float, seed: int, jobs: int, before: Sequence[Case] = (), only: str = ""
) -> list[Case]:
    """Run up to this many cases within this time; prints each that fails."""
    end_s = time.monotonic() + 60 * minutes - min(END_S, 30 * minutes)
    order = random.Random(seed)
    counts = Counter(Fault(case["target"], case["signal"], case["moment"]) for case in before)
    wanted = [fault for fault in fewest_first(counts, order) if only in _name(fault)]
    for kind in sorted({fault.kind for fault in wanted}):
        if (reason := refusal(kind)) is not None:
            print(f"left out: {kind}: {reason}", file=sys.stderr)
            wanted = [fault for fault in wanted if fault.kind != kind]
    wanted = (wanted * (1 + kills // max(1, len(wanted))))[:kills]
    cases: list[Case] = []
    with (
        tempfile.TemporaryDirectory(prefix="deadheat-faults-") as root,
        ThreadPoolExecutor(jobs) as pool,
    ):
        chains = [Chain(Path(root), part, order.randrange(2**32)) for part in _chains(wanted)]
        waiting = [pool.submit(chain.run, lambda: time.monotonic() > end_s) for chain in chains]
        for done in as_completed(waiting):
            for case in done.result():
                cases.append(case)
                if case["failures"]:
                    print(f"FAILED {json.dumps(case, indent=1)}", file=sys.stderr, flush=True)
    return cases


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


def read(path: Path) -> list[Case]:
    """The cases of a file."""
    cases: list[Case] = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return cases


def write(path: Path, cases: Sequence[Case]) -> None:
    """One line for each case."""
    lines = ",\n".join(json.dumps(case) for case in cases)
    path.write_text(f'{{"cases": [\n{lines}\n]}}\n', encoding="utf-8")


def table(cases: Sequence[Case]) -> str:
    """Cases per target, signal and moment: `3`, or `3 (1 failed)`."""
    by_row: defaultdict[tuple[str, str], dict[str, list[Case]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for case in cases:
        by_row[case["target"], case["signal"]][case["moment"]].append(case)
    lines = [f"{'target':15} {'signal':13}" + "".join(f"{moment:>9}" for moment in MOMENTS)]
    for (target, signal), cells in sorted(by_row.items()):
        lines.append(f"{target:15} {signal:13}" + _row(cells))
    failed = sum(bool(case["failures"]) for case in cases)
    inside = sum(case["inside"] for case in cases)
    ways = Counter(case["containment"] for case in cases)
    lines += [
        "",
        f"{len(cases)} cases, {inside} of them within the moment; {failed} failed",
        "contained by " + ", ".join(f"{way} {number}" for way, number in sorted(ways.items())),
        f"{sum(case['trials'] for case in cases)} acknowledged trials checked; "
        f"{_with('lost trials', cases)} cases lost one, {_with('left ', cases)} left something",
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
    parser.add_argument("--minutes", type=float, default=4, help="Duration at most, about.")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--jobs", type=int, default=3, help="Races beside each other.")
    parser.add_argument("--only", default="", help="Only faults whose name has this.")
    parser.add_argument("--json", type=Path, help="File to which the cases are added.")
    parser.add_argument("--show", type=Path, help="Print the table of a file instead.")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
