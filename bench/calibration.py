"""Print a stored result of `deadheat calibrate --json` as the command prints it.

python bench/calibration.py docs/results/calibrate.json
"""

import json
import sys
from pathlib import Path

from deadheat.campaign.calibrate import Calibration, Slowdown
from deadheat.cli.calibrate import lines


def main() -> None:
    stored = json.loads(Path(sys.argv[1]).read_text())
    slowdowns = tuple(Slowdown(**slowdown) for slowdown in stored.pop("slowdowns"))
    print("\n".join(lines(Calibration(**stored, slowdowns=slowdowns))))


if __name__ == "__main__":
    main()
