"""Runs many short commands as one process tree of the local host.

An agent starts a Python process for each command that it runs, which takes more CPU time than
most programs need to print their version.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from deadheat.host.base import Host, HostError, ProcessSpec

RUNNER = Path(__file__).with_name("batch_runner.py")


def run_batch(host: Host, commands: Sequence[Sequence[str]], timeout_s: float) -> list[str | None]:
    """What each command printed, standard error last; None for one that failed.

    Each may take `timeout_s`, and all of them twice as long. Raises `HostError` if the batch did
    not end by itself, which says nothing about any one of the commands.
    """
    words = [sys.executable, "-I", "-S", str(RUNNER), f"{timeout_s:g}"]
    done = host.run(
        ProcessSpec([*words, json.dumps([[*each] for each in commands])]), 2 * timeout_s
    )
    try:
        outputs: list[str | None] = json.loads(done.stdout) if done.exit_code == 0 else []
    except ValueError:
        outputs = []
    if len(outputs) != len(commands):
        raise HostError(f"a batch of {len(commands)} commands did not end by itself")
    return outputs
