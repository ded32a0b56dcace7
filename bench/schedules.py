"""Two protocols of a race: how narrow are the intervals after the same time?

`settle` and another protocol take turns on one field of ten: the eight servers of `make run`, and a
second copy of a Go and of a Node.js server. Every race gets the same budget. The figure is the
median half-width of the simultaneous intervals of all pairs, as a fraction of the ratio; the result
is the quotient of the two protocols' medians. A pair without an interval counts as the widest; if
most pairs of a protocol have none, there is no quotient.

    python -m bench.schedules --against few-starts.toml --pairs 3 --budget 4m
"""

import argparse
import json
import math
import shlex
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.copied_field import NAMES, catalog_with_copies, race, ranked

NEW = "settle"
UNKNOWN = 10.0  # the half-width counted for a pair without an interval: a factor of e to the 10


def main() -> None:
    options = _options()
    if options.show:
        show(json.loads(options.show.read_text()))
        return
    with tempfile.TemporaryDirectory() as folder:
        catalog = catalog_with_copies(Path(folder))
        races = []
        for pair in range(1, options.pairs + 1):
            for protocol in (options.against, NEW) if pair % 2 else (NEW, options.against):
                document = race(catalog, Path(folder) / "runs.sqlite", protocol, options.budget)
                races.append(summary_of(protocol, document))
    command = shlex.join(["python", "-m", "bench.schedules", *sys.argv[1:]])
    summary = {"command": command, "budget": options.budget, "races": races}
    medians = {name: median_half_width(races, name) for name in (options.against, NEW)}
    summary |= {"against": options.against, **medians}
    if all(median < math.expm1(UNKNOWN) for median in medians.values()):
        summary["quotient"] = summary[NEW] / summary[options.against]
    show(summary)
    if options.output:
        options.output.write_text(json.dumps(summary, indent=1) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", default="bench/settle-asleep.toml", help="the other protocol")
    parser.add_argument("--pairs", type=int, default=5, help="races of each protocol")
    parser.add_argument("--budget", default="2m", help="of each race")
    parser.add_argument("--show", type=Path, help="print a stored summary instead")
    parser.add_argument("-o", "--output", type=Path, help="write the summary as JSON")
    return parser.parse_args()


def summary_of(protocol: str, document: dict[str, Any]) -> dict[str, Any]:
    """What the JSON report of one race says about its intervals."""
    return {
        "run": document["run"]["id"],
        "protocol": protocol,
        "measured_share": document["run"].get("measured_share"),
        "ranked": ranked(document),
        "half_widths": half_widths(document["levels"][0]["pairs"]),
        "noise": [c["text"] for c in document["conclusions"] if c["topic"] == "noise"],
    }


def half_widths(pairs: Sequence[dict[str, Any]]) -> list[float]:
    """Half the width of each interval of a ratio, on a log scale; `UNKNOWN` for a missing one."""
    widths = []
    for pair in pairs:
        low, high = pair["ratio"]["low"], pair["ratio"]["high"]
        known = low is not None and high is not None and low > 0
        widths.append(min(math.log(high / low) / 2, UNKNOWN) if known else UNKNOWN)
    return widths + [UNKNOWN] * (math.comb(len(NAMES), 2) - len(widths))


def median_half_width(races: Sequence[dict[str, Any]], protocol: str) -> float:
    """The median over all pairs of all races of a protocol, as a fraction: 0.05 is 5 %."""
    return math.expm1(
        statistics.median(w for r in races if r["protocol"] == protocol for w in r["half_widths"])
    )


def show(summary: dict[str, Any]) -> None:
    against = summary["against"]
    for each in summary["races"]:
        widths = sorted(each["half_widths"])
        middle = statistics.median(widths)
        share = each.get("measured_share")
        measured = f", {share:.0%} of the time measured" if share is not None else ""
        print(
            f"{each['protocol']:13}  {each['run']}  median half-width {_percent(middle):>7}, "
            f"{each['ranked']} of {len(NAMES)} ranked{measured}"
        )
    medians = [math.log1p(summary[name]) for name in (against, NEW)]
    line = f"all races      {against} {_percent(medians[0])}, {NEW} {_percent(medians[1])}"
    if "quotient" in summary:
        line += f": {summary['quotient']:.2f} times as wide"
    print(line)


def _percent(half_width: float) -> str:
    """A half-width on a log scale; where most pairs have no interval, it is unknown."""
    return f"{math.expm1(half_width):.1%}" if half_width < UNKNOWN - 1e-9 else "unknown"


if __name__ == "__main__":
    main()
