"""Does a race like `make run` separate two copies of one server?

The eight servers of `make run` and two copies race by `settle`, several times. A race passes if no
server is separated from its copy and if all are ranked.

    python -m bench.copies --races 10 --budget 4m -o docs/results/copies.json
    python -m bench.copies --again runs.sqlite -o docs/results/copies.json
    python -m bench.copies --show docs/results/copies.json
"""

import argparse
import json
import shlex
import statistics
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from bench.copied_field import COPIED, NAMES, catalog_with_copies, race, ranked, report_of
from deadheat.store import Store
from deadheat.store.listing import run_ids


def main() -> int:
    options = _options()
    if options.show:
        outcome = json.loads(options.show.read_text())
    else:
        outcome = summarized_again(options) if options.again else measure(options)
    print(shown(outcome))
    return 0 if all(passes(each) for each in outcome["races"]) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--races", type=int, default=10)
    parser.add_argument("--budget", default="4m", help="of each race")
    parser.add_argument("--store", type=Path, help="keep the races in this file")
    parser.add_argument(
        "--again", type=Path, help="summarize the races of this store with today's statistics"
    )
    parser.add_argument("--show", type=Path, help="print a stored outcome instead")
    parser.add_argument("-o", "--output", type=Path, help="write the outcome as JSON")
    return parser.parse_args()


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Race, and write after each race: what was measured stays if the bench is stopped."""
    outcome = empty_outcome()
    with tempfile.TemporaryDirectory(prefix="deadheat-copies-") as folder:
        catalog = catalog_with_copies(Path(folder))
        store = options.store or Path(folder) / "runs.sqlite"
        for _ in range(options.races):
            document = race(catalog, store, "settle", options.budget)
            outcome["races"].append(summary(document))
            write(outcome, options.output)
    return outcome


def summarized_again(options: argparse.Namespace) -> dict[str, Any]:
    outcome = empty_outcome()
    with Store(options.again, read_only=True) as store:
        runs = run_ids(store)[::-1]
    outcome["races"] = [summary(report_of(options.again, run_id)) for run_id in runs]
    write(outcome, options.output)
    return outcome


def empty_outcome() -> dict[str, Any]:
    command = shlex.join(["python", "-m", "bench.copies", *sys.argv[1:]])
    return {"date": date.today().isoformat(), "command": command, "races": []}


def write(outcome: dict[str, Any], output: Path | None) -> None:
    if output:
        output.write_text(json.dumps(outcome, indent=1) + "\n")


def summary(document: dict[str, Any]) -> dict[str, Any]:
    """What the JSON report of one race says about copies, and how fine the race was."""
    run, level = document["run"], document["levels"][0]
    noise = [each["text"] for each in document["conclusions"] if each["topic"] == "noise"]
    return {
        "run": run["id"],
        "elapsed_s": run["elapsed_s"],
        "measured_share": run["measured_share"],
        "minimum_detectable_effect": level["minimum_detectable_effect"],
        "ranked": ranked(document),
        "separated": sum(pair["verdict"] == "separated" for pair in level["pairs"]),
        "copies": {
            pair["faster"].removesuffix("-copy"): copy_over_original(pair)
            for pair in of_copies(level)
        },
        "noise": noise,
    }


def of_copies(level: dict[str, Any]) -> list[dict[str, Any]]:
    """The pairs of a server and its copy."""
    names = [{name, f"{name}-copy"} for name in COPIED]
    return [pair for pair in level["pairs"] if {pair["faster"], pair["slower"]} in names]


def copy_over_original(pair: dict[str, Any]) -> dict[str, Any]:
    """The ratio of the rates with its interval, whichever of the two is faster."""
    ratio = pair["ratio"]
    if not pair["faster"].endswith("-copy"):
        ratio = {"ratio": 1 / ratio["ratio"], "low": 1 / ratio["high"], "high": 1 / ratio["low"]}
    return {"verdict": pair["verdict"], **ratio}


def passes(summary: dict[str, Any]) -> bool:
    """Whether all are ranked, and both pairs of copies were compared and not separated."""
    verdicts = [each["verdict"] for each in summary["copies"].values()]
    return (
        summary["ranked"] == len(NAMES)
        and len(verdicts) == len(COPIED)
        and "separated" not in verdicts
    )


def shown(outcome: dict[str, Any]) -> str:
    races = outcome["races"]
    lines = [
        f"{'race':6}  {'elapsed':>7}  {'measured':>8}  {'detectable':>10}  {'ranked':>6}  copies"
    ]
    for number, each in enumerate(races, 1):
        pairs = (
            f"{name} {pair['ratio'] - 1:+.1%}{' SEPARATED' * (pair['verdict'] == 'separated')}"
            for name, pair in sorted(each["copies"].items())
        )
        lines.append(
            f"{number:<6}  {each['elapsed_s']:>5.0f} s  {each['measured_share']:>8.0%}  "
            f"{each['minimum_detectable_effect']:>10.1%}  {each['ranked']:>6}  {', '.join(pairs)}"
        )
    for name in COPIED:
        ratios = [each["copies"][name]["ratio"] for each in races if name in each["copies"]]
        if ratios:
            faster = sum(ratio > 1 for ratio in ratios)
            mean = statistics.geometric_mean(ratios)
            lines.append(
                f"{name}: the copy was faster in {faster} of {len(ratios)}, by {mean - 1:+.1%}"
            )
    middle = statistics.median(each["minimum_detectable_effect"] for each in races)
    share = statistics.median(each["measured_share"] for each in races)
    passed = sum(passes(each) for each in races)
    lines.append(f"{passed} of {len(races)} races pass")
    lines.append(f"median: {middle:.1%} detectable, {share:.0%} measured")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
