"""Several client processes of one generator, if one process may not hold all connections.

A few lines of Python start them together on the load host, which has Python because it runs the
agent. The output of each is printed as soon as it ends, so a process that hangs does not lose the
output of the others. The total rate is the sum of their requests over the longest of their times.
"""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from deadheat.host import Completed
from deadheat.load.base import Generator, GeneratorFailed, LoadResult, LoadSpec, shares
from deadheat.load.pooling import add_up, combined

SCRIPT = """\
import concurrent.futures, json, subprocess, sys
def run(number, command):
    done = subprocess.run(command, capture_output=True, text=True)
    line = json.dumps([number, done.returncode, done.stdout, done.stderr])
    sys.stdout.write(line + "\\n")
    sys.stdout.flush()
commands = json.loads(sys.argv[1])
with concurrent.futures.ThreadPoolExecutor(len(commands)) as pool:
    list(pool.map(run, range(len(commands)), commands))
"""


class Several:
    """One process up to `each` connections, and as many as needed for more."""

    def __init__(self, generator: Generator, each: int) -> None:
        self._generator = generator
        self._each = each

    @property
    def name(self) -> str:
        return self._generator.name

    def version_command(self) -> list[str]:
        return self._generator.version_command()

    def version(self, completed: Completed) -> str:
        return self._generator.version(completed)

    def install_hint(self) -> str:
        return self._generator.install_hint()

    def command(self, spec: LoadSpec) -> list[str]:
        if spec.connections <= self._each:
            return self._generator.command(spec)
        commands = [self._generator.command(share) for share in self._shares(spec)]
        return ["python3", "-c", SCRIPT, json.dumps(commands)]

    def parse(self, spec: LoadSpec, completed: Completed, version: str) -> LoadResult:
        if spec.connections <= self._each:
            return self._generator.parse(spec, completed, version)
        shares = self._shares(spec)
        parts, faults = [], []
        for number, process in _ended_processes(completed.stdout):
            try:
                parts.append(self._generator.parse(shares[number], process, version))
            except GeneratorFailed as error:
                faults.append(f"{error} ({error.hint})" if error.hint else str(error))
        if len(parts) < len(shares):
            raise GeneratorFailed(
                f"{len(shares) - len(parts)} of {len(shares)} {self.name} processes gave no result",
                "; ".join(dict.fromkeys(faults)) or completed.stderr.strip()[-500:] or None,
            )
        return _combined(parts)

    def _shares(self, spec: LoadSpec) -> list[LoadSpec]:
        """Equal shares of the connections, and of the request cap and the rate if given."""
        count = math.ceil(spec.connections / self._each)
        return shares(spec, count)


def _ended_processes(stdout: str) -> Iterator[tuple[int, Completed]]:
    """The number and output of each process that ended. Ignores an incomplete line."""
    for line in stdout.splitlines(keepends=True):
        if line.endswith("\n"):
            number, code, out, err = json.loads(line)
            yield number, Completed(code, out, err, 0.0, 0.0)


def _combined(parts: Sequence[LoadResult]) -> LoadResult:
    """One result of all parts. Counts add up; of the latencies only the maximum is known."""
    longest_us = [us for part in parts if (us := part.service_us.get("max")) is not None]
    return replace(
        combined(parts, max(part.elapsed_s for part in parts)),
        service_us={"max": max(longest_us, default=None)},
        connections_served=add_up(parts, "connections_served"),
        connections_established=add_up(parts, "connections_established"),
    )
