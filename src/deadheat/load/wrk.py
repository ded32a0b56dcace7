"""wrk 4 as a load generator.

wrk rewrites its latencies before it prints them (`stats_correct`), so they are not compared with
those of other generators.
"""

import re

from deadheat.errors import DeadheatError
from deadheat.host import Completed
from deadheat.load.base import WHOLE_SHARE_MIN, LoadResult, LoadSpec, ended_early, no_result

_UNIT_US = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6}
_BYTES = {"B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}


class Wrk:
    """Closed loop. Checks only the status of an answer."""

    name = "wrk"

    def version_command(self) -> list[str]:
        return ["wrk", "--version"]

    def version(self, completed: Completed) -> str:
        # `wrk --version` also prints its usage and exits with 1.
        match = re.search(r"wrk (?:debian/)?(\S+)", completed.stdout + completed.stderr)
        return match.group(1) if match else "unknown"

    def install_hint(self) -> str:
        return "apt-get install wrk"

    def command(self, spec: LoadSpec) -> list[str]:
        if spec.rate_per_s is not None:
            raise DeadheatError("wrk has no fixed rate", "use --generator engine")
        if spec.request_cap is not None:
            raise DeadheatError("wrk has no request cap", "use --generator ab")
        command = ["wrk", "-t", str(min(spec.threads, spec.connections))]
        command += ["-c", str(spec.connections), "-d", f"{max(1, round(spec.duration_s))}s"]
        command += ["--timeout", f"{max(1, round(spec.timeout_s))}s", "--latency"]
        if not spec.keep_alive:
            command += ["-H", "Connection: close"]
        return [*command, *spec.arguments, spec.url]

    def parse(self, spec: LoadSpec, completed: Completed, version: str) -> LoadResult:
        text = completed.stdout
        total = re.search(r"(\d+) requests in ([\d.]+)(us|ms|s|m|h), ([\d.]+)([KMGT]?B) read", text)
        rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
        if total is None or rate is None:
            raise no_result(self.name, completed)
        requests = int(total.group(1))
        errors = _errors(text)
        elapsed_s = float(total.group(2)) * _UNIT_US[total.group(3)] / 1e6
        if elapsed_s < WHOLE_SHARE_MIN * max(1, round(spec.duration_s)):
            raise ended_early(self.name, elapsed_s, spec)
        bad_status = errors.get("status", 0)
        return LoadResult(
            generator=self.name,
            version=version,
            # wrk counts answers with any status as requests; exclude those with an error status.
            rate_per_s=float(rate.group(1)) * (requests - bad_status) / max(requests, 1),
            requests_ok=requests - bad_status,
            elapsed_s=elapsed_s,
            errors=errors,
            service_us=_latency(text),
            requests_sent_in_all=requests,
            bytes_in=round(float(total.group(4)) * _BYTES[total.group(5)]),
        )


def _errors(text: str) -> dict[str, int]:
    errors: dict[str, int] = {}
    if match := re.search(
        r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text
    ):
        names = ("connect", "read", "write", "timeout")
        errors.update({n: int(c) for n, c in zip(names, match.groups(), strict=True) if int(c)})
    if match := re.search(r"Non-2xx or 3xx responses: (\d+)", text):
        errors["status"] = int(match.group(1))
    return errors


def _latency(text: str) -> dict[str, float | None]:
    figures: dict[str, float | None] = {}
    row = r"Latency\s+([\d.]+)(us|ms|s|m|h)\s+([\d.]+)(us|ms|s|m|h)\s+([\d.]+)(us|ms|s|m|h)"
    if match := re.search(row, text):
        values = [float(match.group(i)) * _UNIT_US[match.group(i + 1)] for i in (1, 3, 5)]
        figures |= dict(zip(("mean", "stdev", "max"), values, strict=True))
    for quantile, value, unit in re.findall(
        r"^\s+(50|75|90|99)%\s+([\d.]+)(us|ms|s|m)", text, re.M
    ):
        figures[f"p{quantile}"] = float(value) * _UNIT_US[unit]
    return figures
