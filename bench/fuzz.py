"""Fuzzes all readers of foreign files and bytes: `python -m bench.fuzz --minutes 10 [TARGET ...]`.

Each target of `tests/fuzz/targets.py` gets the same share of the time, in a process with limited
memory. An input fails if it ends in an exception other than `DeadheatError`, opens a file outside
its folder, takes too much CPU time, or hangs. Failures are shrunk and printed, and the exit code is
1. Time in which this process was stopped does not count.
"""

import argparse
import multiprocessing
import os
import random
import resource
import signal
import time
import traceback
from typing import Any

from hypothesis import HealthCheck, given, seed, settings

from deadheat.campaign.run import Standstills
from tests.fuzz.targets import TARGETS, check_input

CPU_S_MAX = 20  # of an input, however busy the machine is
HANGS_S = 300.0  # of an input; and of a target, past its time
LOOK_S = 2.0
MEMORY_BYTES_MAX = 2 << 30
BATCH = 200


class Clock:
    """Seconds since it was made, without those in which this process was stopped."""

    def __init__(self) -> None:
        self._standstills = Standstills()
        self._stood_before_s = self._standstills.total_s()
        self._begun_s = time.monotonic()

    def now_s(self) -> float:
        stood_s = self._standstills.total_s() - self._stood_before_s
        return time.monotonic() - self._begun_s - stood_s


def _cpu_s() -> float:
    """The CPU time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def _fuzz(name: str, duration_s: float, first_seed: int) -> None:
    """Run batches until the time is over. Ends with exit code 1 after a failure."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    clock, target = Clock(), TARGETS[name]
    inputs, slowest_s, begin_s, cpu_before_s = 0, 0.0, 0.0, 0.0
    numbers = random.Random(first_seed)

    def end_if_too_long(*_: object) -> None:
        if _cpu_s() - cpu_before_s > CPU_S_MAX:
            raise TimeoutError(f"the input took more than {CPU_S_MAX} s of CPU time")
        if clock.now_s() - begin_s > HANGS_S:
            raise TimeoutError("the input hangs")

    signal.signal(signal.SIGALRM, end_if_too_long)
    while clock.now_s() < duration_s:

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
            nonlocal inputs, slowest_s, begin_s, cpu_before_s
            begin_s, cpu_before_s = clock.now_s(), _cpu_s()
            if begin_s > duration_s:
                return
            signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)
            try:
                check_input(target, content)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                inputs += 1
                slowest_s = max(slowest_s, _cpu_s() - cpu_before_s)

        try:
            batch()
        except BaseException:
            print(f"{name:14} FAILED after {inputs:,} inputs", flush=True)
            traceback.print_exc()
            raise SystemExit(1) from None
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:14} {inputs:8,} inputs in {clock.now_s():.0f} s ({_cpu_s():.0f} s of CPU time), "
        f"the slowest {slowest_s:.2f} s, peak {peak_mib:,.0f} MiB",
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
        clock = Clock()
        while child.is_alive() and clock.now_s() < share_s + HANGS_S:
            child.join(1.0)
        if child.is_alive():
            print(f"{name:14} FAILED: hangs where no signal reaches it", flush=True)
            child.kill()
            child.join()
        failed += child.exitcode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
