"""`python -m deadheat.cli.tied`: deadheat that ends when the process that started it ends.

A worker of Ray is killed with its node; the run that it started must not go on.
"""

import ctypes
import os
import signal
import sys

from deadheat.cli import main
from deadheat.cli.endings import ExitCode

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def tie(parent: int) -> None:
    """Ask the kernel for a SIGTERM, which deadheat takes as an interrupt, when `parent` ends."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it ended before the call
        sys.exit(ExitCode.FAILED)


if __name__ == "__main__":
    tie(int(sys.argv.pop(1)))
    main()
