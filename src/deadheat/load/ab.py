"""ApacheBench (ab) as a load generator.

ab counts truncated and failed answers as complete requests. Failures that ab reports are subtracted
from the rate here, and are errors with ab's own names.
"""

import re
from collections.abc import Mapping

from deadheat.errors import DeadheatError
from deadheat.host import Completed
from deadheat.load.base import (
    WHOLE_SHARE_MIN,
    GeneratorFailed,
    LoadResult,
    LoadSpec,
    ended_early,
    no_result,
)

REQUESTS_MAX = 5_000_000  # ab reserves memory for each request in advance
NO_FREE_PORT = "Cannot assign requested address"
_CAUSES = ("Connect", "Receive", "Length", "Exceptions")


class Ab:
    """Closed loop, one thread, HTTP/1.0; one connection per request unless kept alive."""

    name = "ab"

    def version_command(self) -> list[str]:
        return ["ab", "-V"]

    def version(self, completed: Completed) -> str:
        match = re.search(r"Version ([\d.]+)", completed.stdout)
        return match.group(1) if match else "unknown"

    def install_hint(self) -> str:
        return "apt-get install apache2-utils"

    def command(self, spec: LoadSpec) -> list[str]:
        if spec.rate_per_s is not None:
            raise DeadheatError("ab has no fixed rate", "use --generator engine")
        command = ["ab", "-q", "-c", str(spec.connections)]
        command += ["-t", str(max(1, round(spec.duration_s)))]
        # -t implies -n 50000; a later -n overrides it.
        command += ["-n", str(spec.request_cap or REQUESTS_MAX)]
        command += ["-s", str(max(1, round(spec.timeout_s)))]
        if spec.keep_alive:
            command += ["-k"]
        return [*command, *spec.arguments, spec.url]

    def parse(self, spec: LoadSpec, completed: Completed, version: str) -> LoadResult:
        text = completed.stdout
        complete = re.search(r"Complete requests:\s+(\d+)", text)
        elapsed = re.search(r"Time taken for tests:\s+([\d.]+) seconds", text)
        if complete is None or elapsed is None:
            if NO_FREE_PORT in completed.stderr:
                raise GeneratorFailed(
                    f"ab had no free port for some of {spec.connections:,} connections",
                    "closed connections hold theirs for a while: use fewer connections, or more "
                    'ports: sudo sysctl -w net.ipv4.ip_local_port_range="1024 65535"',
                )
            raise no_result(self.name, completed)
        requests, elapsed_s = int(complete.group(1)), float(elapsed.group(1))
        if requests == 0:
            raise GeneratorFailed(
                f"ab ended after {elapsed_s:.1f} s with no request complete",
                f"the server dropped connections, or {spec.connections:,} take longer to open: use "
                "fewer, or a longer --duration",
            )
        whole_s = max(1, round(spec.duration_s))
        if requests < (spec.request_cap or REQUESTS_MAX) and elapsed_s < WHOLE_SHARE_MIN * whole_s:
            raise ended_early(self.name, elapsed_s, spec)
        errors = _with_wrong_lengths(spec, text, requests, _errors(text))
        # A response with another status and another length is in both counts, so this is a lower
        # bound of the right answers.
        ok = max(0, requests - sum(errors.values()))
        read = re.search(r"Total transferred:\s+(\d+) bytes", text)
        return LoadResult(
            generator=self.name,
            version=version,
            rate_per_s=ok / elapsed_s if elapsed_s else 0.0,
            requests_ok=ok,
            elapsed_s=elapsed_s,
            errors=errors,
            service_us=_latency(text),
            requests_sent_in_all=requests,
            bytes_in=int(read.group(1)) if read else None,
        )


def _with_wrong_lengths(
    spec: LoadSpec, text: str, requests: int, errors: Mapping[str, int]
) -> Mapping[str, int]:
    """The errors, with `length` counting the answers whose length is wrong.

    ab takes the length of the first answer for the right one, even if that answer was wrong. Then
    the right answers are among those that ab calls failed; their bytes limit their number.
    """
    first_length = re.search(r"Document Length:\s+(\d+) bytes", text)
    expected = len((spec.expect_body or "").encode())
    if not expected or first_length is None or (first := int(first_length.group(1))) == expected:
        return errors
    others = errors.get("length", 0)
    bodies = re.search(r"HTML transferred:\s+(\d+) bytes", text)
    left = int(bodies.group(1)) - first * (requests - others) if bodies else 0
    wrong = requests - min(others, max(0, left) // expected)
    rest = {name: count for name, count in errors.items() if name != "length"}
    return {"length": wrong, **rest} if wrong else rest


def _errors(text: str) -> dict[str, int]:
    errors: dict[str, int] = {}
    for cause in _CAUSES:
        match = re.search(rf"{cause}: (\d+)", text)
        if match and int(match.group(1)):
            errors[cause.lower()] = int(match.group(1))
    if match := re.search(r"Non-2xx responses:\s+(\d+)", text):
        errors["status"] = int(match.group(1))
    return errors


def _latency(text: str) -> dict[str, float | None]:
    """Latencies in microseconds. ab prints whole milliseconds, so a 0 is unknown: None."""
    figures: dict[str, float | None] = {}
    if match := re.search(r"^Total:\s+(\d+)\s+(\d+)\s+([\d.]+)\s+(\d+)\s+(\d+)", text, re.M):
        names = ("min", "mean", "stdev", "p50", "max")
        figures |= {n: float(v) * 1e3 or None for n, v in zip(names, match.groups(), strict=True)}
    for quantile, value in re.findall(r"^\s+(50|75|90|95|99)%\s+(\d+)", text, re.M):
        figures[f"p{quantile}"] = float(value) * 1e3 or None
    return figures
