"""Several client processes of one generator, where one may not hold all connections.

They are started together by a few lines of Python on the load host, which runs the agent and so has
Python. Their rates add up over the longest of their times, which is what all of them share.
"""

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from deadheat.host import Completed
from deadheat.load.base import Generator, GeneratorFailed, LoadResult, LoadSpec

SCRIPT = """\
import json, subprocess, sys
started = [
    subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for command in json.loads(sys.argv[1])
]
told = [one.communicate() for one in started]
print(json.dumps([[one.returncode, *texts] for one, texts in zip(started, told)]))
"""


class Several:
    """The generator itself up to `each` connections, and as many of it as are needed beyond."""

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
        try:
            told = json.loads(completed.stdout)
        except json.JSONDecodeError as error:
            raise GeneratorFailed(
                f"several {self.name} ended with {completed.exit_code} and printed no result",
                completed.stderr.strip()[-500:] or None,
            ) from error
        return _together(
            [
                self._generator.parse(share, Completed(code, out, err, 0.0, 0.0), version)
                for share, (code, out, err) in zip(self._shares(spec), told, strict=True)
            ]
        )

    def _shares(self, spec: LoadSpec) -> list[LoadSpec]:
        """Equal shares of the connections, and of the cap on requests and the rate if any."""
        count = math.ceil(spec.connections / self._each)
        least, rest = divmod(spec.connections, count)
        return [
            replace(
                spec,
                connections=least + (number < rest),
                request_cap=spec.request_cap and spec.request_cap // count,
                rate_per_s=spec.rate_per_s and spec.rate_per_s / count,
            )
            for number in range(count)
        ]


def _together(parts: Sequence[LoadResult]) -> LoadResult:
    """Counts add up. Of the latencies only the extremes of all are known."""
    elapsed_s = max(part.elapsed_s for part in parts)
    requests_ok = sum(part.requests_ok for part in parts)
    errors: Counter[str] = Counter()
    for part in parts:
        errors.update(part.errors)
    return LoadResult(
        generator=parts[0].generator,
        version=parts[0].version,
        rate_per_s=requests_ok / elapsed_s if elapsed_s else 0.0,
        requests_ok=requests_ok,
        elapsed_s=elapsed_s,
        errors=dict(errors),
        service_us={"max": _largest([part.service_us.get("max") for part in parts])},
        requests_sent_in_all=sum(part.requests_sent_in_all or 0 for part in parts),
        connections_served=_sum([part.connections_served for part in parts]),
        connections_established=_sum([part.connections_established for part in parts]),
        bytes_in=_sum([part.bytes_in for part in parts]),
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def _largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
