"""Runs short commands, several at a time: `python3 -I -S batch_runner.py TIMEOUT_S COMMANDS`.

COMMANDS is a JSON list of lists of words. It prints a JSON list: for each command what it printed,
standard error last, or null if it failed or took too long.
"""

import json
import subprocess
import sys
import threading

AT_ONCE = 4
OUTPUT_BYTES_MAX = 1 << 16


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
