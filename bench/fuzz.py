"""Fuzzes all readers of foreign files and bytes: `python -m bench.fuzz --minutes 10 [TARGET ...]`.

Each target of `tests/fuzz/targets.py` gets the same share of the time, in a process with limited
memory. An input fails if it ends in an exception other than `DeadheatError`, opens a file outside
its folder, or takes too long. Failures are shrunk and printed, and the exit code is 1.
"""

import argparse
import multiprocessing
import random
import resource
import signal
import time
import traceback
from typing import Any, NoReturn

from hypothesis import HealthCheck, given, seed, settings

from tests.fuzz.targets import TARGETS, check_input

INPUT_S_MAX = 20
MEMORY_BYTES_MAX = 2 << 30
BATCH = 200


def _too_long(*_: object) -> NoReturn:
    raise TimeoutError(f"the input took more than {INPUT_S_MAX} s")


def _fuzz(name: str, duration_s: float, first_seed: int) -> None:
    """Run batches until the time is over. Ends with exit code 1 after a failure."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    signal.signal(signal.SIGALRM, _too_long)
    target = TARGETS[name]
    inputs, slowest_s, end_s = 0, 0.0, time.monotonic() + duration_s
    numbers = random.Random(first_seed)
    while time.monotonic() < end_s:

        @seed(numbers.randrange(2**32))
        @settings(
            database=None,
            deadline=None,
            max_examples=BATCH,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )
        @given(target.inputs)
        def batch(content: Any) -> None:
            nonlocal inputs, slowest_s
            if time.monotonic() > end_s:
                return
            begin_s = time.monotonic()
            signal.alarm(INPUT_S_MAX)
            try:
                check_input(target, content)
            finally:
                signal.alarm(0)
                inputs += 1
                slowest_s = max(slowest_s, time.monotonic() - begin_s)

        try:
            batch()
        except BaseException:
            print(f"{name:14} FAILED after {inputs:,} inputs", flush=True)
            traceback.print_exc()
            raise SystemExit(1) from None
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:14} {inputs:8,} inputs, the slowest {slowest_s:.2f} s, peak {peak_mib:,.0f} MiB",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", choices=[[], *TARGETS], help="Default: all.")
    parser.add_argument("--minutes", type=float, default=10, help="Duration of all together.")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    arguments = parser.parse_args()
    names = arguments.targets or list(TARGETS)
    print(f"seed {arguments.seed}", flush=True)
    failed = 0
    for name in names:
        share_s = 60 * arguments.minutes / len(names)
        child = multiprocessing.get_context("fork").Process(
            target=_fuzz, args=(name, share_s, arguments.seed)
        )
        child.start()
        child.join(share_s + 300)
        if child.is_alive():
            print(f"{name:14} FAILED: hangs where no signal reaches it", flush=True)
            child.kill()
            child.join()
        failed += child.exitcode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
