"""Runs many short commands as one process tree of the local host.

An agent starts a Python process for each command that it runs, which takes more CPU time than
most programs need to print their version. This file is also the program that runs the commands,
several at a time: `python3 -I -S batch.py TIMEOUT_S COMMANDS`. COMMANDS is a JSON list of lists of
words. It prints a JSON list: for each command what it printed, standard error last, or null if it
failed or took too long.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deadheat.host import Host

AT_ONCE = 4
OUTPUT_BYTES_MAX = 1 << 16


def run_batch(host: Host, commands: Sequence[Sequence[str]], timeout_s: float) -> list[str | None]:
    """What each command printed, standard error last; None for one that failed.

    Each may take `timeout_s`, and all of them twice as long. Raises `HostError` if the batch did
    not end by itself, which says nothing about any one of the commands.
    """
    from deadheat.host import HostError, ProcessSpec  # only here: the program has no package

    words = [sys.executable, "-I", "-S", __file__, f"{timeout_s:g}"]
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


def main(timeout_s: float, commands: list[list[str]]) -> list[str | None]:
    outputs: list[str | None] = [None] * len(commands)
    numbers = iter(range(len(commands)))

    def run_next() -> None:
        for number in numbers:  # `next` of a range's iterator is atomic
            outputs[number] = output(commands[number], timeout_s)

    threads = [threading.Thread(target=run_next) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outputs


def output(command: list[str], timeout_s: float) -> str | None:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return (done.stdout + done.stderr)[:OUTPUT_BYTES_MAX].decode(errors="replace")


if __name__ == "__main__":
    print(json.dumps(main(float(sys.argv[1]), json.loads(sys.argv[2]))))
