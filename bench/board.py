"""What a board of N servers by W workloads costs: CPU time, peak memory, bytes of the index.

    python bench/board.py [--servers 150] [--workloads 8]

The edition is made: a race in slices on each workload, of two starts and eight blocks. Reading is
what `deadheat board write` does with a bundle; the pages are all that it writes.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from deadheat.serve.board import BoardFolder
from deadheat.store import Store
from deadheat.store.listing import run_ids
from tests.browser.test_board import made_edition


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--servers", type=int, default=150)
    parser.add_argument("--workloads", type=int, default=8)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)  # a made one: to read alone
    options = parser.parse_args()
    if options.store is None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "runs.sqlite"
            made_edition(path, options.servers, options.workloads)
            again = [sys.argv[0], "--servers", str(options.servers), "--store", str(path)]
            again += ["--workloads", str(options.workloads)]
            subprocess.run([sys.executable, *again], check=True)
        return
    with Store(options.store, read_only=True) as store:
        board = BoardFolder(options.store.parent / "board")
        board.open()
        began_s = time.process_time()
        board.add(store, run_ids(store)[0])
        read_s = time.process_time()
        board.finish()
        ended_s = time.process_time()
    index = (board.folder / "index.html").stat().st_size
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{options.servers} servers, {options.workloads} workloads: statistics and reports "
        f"{read_s - began_s:.1f} s, pages {ended_s - read_s:.1f} s, {memory:.0f} MiB, "
        f"index {index / 1024:.0f} KiB, {len(board.files)} files"
    )


if __name__ == "__main__":
    main()
