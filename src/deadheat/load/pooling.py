"""Several results as one: counts add up, histograms merge exactly.

`merge_parts` joins what several load hosts measured in the same window, `pool` what the slices of
one instance measured one after another. A figure that one of the results lacks is None.

Where one process of a generator may not hold all connections, `Several` has a few lines of Python
start more of them together on the load host, which has Python because it runs the agent. The output
of each is printed as soon as it ends, so a process that hangs does not lose the output of the
others. The total rate is the sum of their requests over the longest of their times.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deadheat.host import Completed
from deadheat.load.base import Generator, GeneratorFailed, LoadResult, LoadSpec, shares
from deadheat.stats.histogram import Latency, merge

QUANTILES = {"p50": 0.5, "p75": 0.75, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}
LAG = "client_lag_us"
ROW_AT, ROW_SLACK_S = "at_s", 1e-6
ADDED = (
    *("requests_sent_in_all", "client_cpu_s", "bytes_in"),
    *("retransmits", "spurious_retransmits", "out_of_order"),
    *("bytes_out", "packets_in", "data_packets_in", "packets_out"),
)
AVERAGED = (  # over slices
    *("jain_fairness", "busiest_thread_share", "run_wait_share", "little_law_error", "skew_us"),
    "too_short_to_gather_share",
)


def pool(results: Sequence[LoadResult]) -> LoadResult:
    """The results of slices that follow one another on the same connections.

    Rates and shares are those of the time measured in all; a limit keeps its worst reading.
    ValueError without a result.
    """
    if not results:
        raise ValueError("no results to pool")
    averages: dict[str, Any] = {name: mean(results, name) for name in AVERAGED}
    lags_us = [result.client_lag_us_p99 for result in results]
    return replace(
        combined(results, math.fsum(result.elapsed_s for result in results)),
        series=_joined(results),
        connections_established=min(known(results, "connections_established"), default=None),
        connections_served=min(known(results, "connections_served"), default=None),
        offered_rate_per_s=mean(results, "offered_rate_per_s"),
        client_lag_us_p99=max((lag_us for lag_us in lags_us if lag_us), default=None),
        window_s=math.fsum(result.sending_s for result in results),
        paused_s=add_up(results, "paused_s"),
        **averages,
    )


def merge_parts(
    specs: Sequence[LoadSpec], parts: Sequence[LoadResult], skew_us: float
) -> LoadResult:
    """The whole load. `specs` says what part of it each host had.

    Counts and histograms add up exactly. Of what each host has a limit of (its busiest thread, its
    wait for a CPU), the worst counts. ValueError without a part.
    """
    if not parts:
        raise ValueError("no parts to merge")
    rate_per_s = sum(part.rate_per_s for part in parts)
    window_s = max(part.sending_s for part in parts)
    requests_ok = sum(part.requests_ok for part in parts)
    whole = combined(parts, requests_ok / rate_per_s if rate_per_s else window_s)
    lag = _merged(parts, LAG) if LAG in whole.histograms else None
    return replace(
        whole,
        series=_rows([part.series for part in parts], window_s),
        connections_established=add_up(parts, "connections_established"),
        connections_served=add_up(parts, "connections_served"),
        jain_fairness=_jain(specs, parts),
        busiest_thread_share=max(known(parts, "busiest_thread_share"), default=None),
        run_wait_share=max(known(parts, "run_wait_share"), default=None),
        little_law_error=_little(specs, parts),
        offered_rate_per_s=add_up(parts, "offered_rate_per_s"),
        client_lag_us_p99=_figures(lag).get("p99"),
        window_s=window_s,
        paused_s=mean(parts, "paused_s"),
        skew_us=skew_us,
    )


def combined(parts: Sequence[LoadResult], elapsed_s: float) -> LoadResult:
    """What follows from the parts however they lie in time, which took `elapsed_s` together.

    Counts add up, histograms merge exactly, and a limit keeps its worst reading. Fields that depend
    on how the parts lie in time have their defaults.
    """
    requests_ok = sum(part.requests_ok for part in parts)
    errors: Counter[str] = Counter()
    for part in parts:
        errors.update(part.errors)
    names = sorted({name for part in parts for name in part.histograms})
    latencies = {name: _merged(parts, name) for name in names}
    pauses_us = [part.longest_pause_us for part in parts]
    return LoadResult(
        generator=parts[0].generator,
        version=parts[0].version,
        rate_per_s=requests_ok / elapsed_s if elapsed_s else 0.0,
        requests_ok=requests_ok,
        elapsed_s=elapsed_s,
        errors=dict(errors),
        service_us=_figures(latencies.get("service_us")),
        response_us=_figures(latencies.get("response_us")),
        first_byte_us=_figures(latencies.get("first_byte_us")),
        histograms={name: latency.encoded for name, latency in latencies.items()},
        limits=_worst_limits(parts),
        longest_pause_us=max((us for us in pauses_us if us is not None), default=None),
        **{name: add_up(parts, name) for name in ADDED},
    )


def known(results: Sequence[LoadResult], name: str) -> list[Any]:
    """One figure of each result; empty where one of them lacks it."""
    values = [getattr(result, name) for result in results]
    return [] if any(value is None for value in values) else values


def add_up(results: Sequence[LoadResult], name: str) -> Any:
    """The sum of a figure."""
    return sum(values) if (values := known(results, name)) else None


def mean(results: Sequence[LoadResult], name: str) -> float | None:
    """The mean of a figure, weighted by the time measured."""
    whole_s = math.fsum(result.elapsed_s for result in results)
    values = known(results, name)
    if not values or whole_s <= 0:
        return None
    weighted = (v * result.elapsed_s for v, result in zip(values, results, strict=True))
    return math.fsum(weighted) / whole_s


def _merged(parts: Sequence[LoadResult], histogram: str) -> Latency:
    """One histogram of all parts that have it; at least one has."""
    return merge([part.histograms[histogram] for part in parts if histogram in part.histograms])


def _figures(latency: Latency | None) -> dict[str, float | None]:
    """Microseconds; a quantile that too few requests support is None."""
    if latency is None or not latency.count:
        return {}
    return {
        "count": latency.count,
        "mean": latency.mean_us,
        "max": latency.max_us,
        **{name: latency.quantile_us(q) for name, q in QUANTILES.items()},
    }


def _worst_limits(results: Sequence[LoadResult]) -> list[Mapping[str, Any]]:
    """Of each limit the worst reading."""
    worst: dict[str, Mapping[str, Any]] = {}
    for limit in (limit for result in results for limit in result.limits):
        before = worst.get(limit["code"])
        if before is None or limit["reading"] > before["reading"]:
            worst[limit["code"]] = limit
    return list(worst.values())


def _joined(results: Sequence[LoadResult]) -> list[Mapping[str, Any]]:
    """The series one after another, as if nothing lay between them."""
    rows: list[Mapping[str, Any]] = []
    before_s = 0.0
    for result in results:
        own = _within(result) if result.offered_rate_per_s else result.series
        rows += [{**row, ROW_AT: before_s + row[ROW_AT]} for row in own]
        before_s += result.sending_s
    return rows


def _within(result: LoadResult) -> Iterator[Mapping[str, Any]]:
    """The series of an open loop until its window ends; of the row in which it ends, a part.

    Later answers would be in the time of the next slice.
    """
    begun_s = 0.0
    for row in result.series:
        if (left_s := result.sending_s - begun_s) <= ROW_SLACK_S:
            return
        part = min(1.0, left_s / (row[ROW_AT] - begun_s))
        counts = {n: v * part for n, v in row.items() if n != ROW_AT and isinstance(v, int | float)}
        yield row if part == 1 else {**row, **counts, ROW_AT: result.sending_s}
        begun_s = row[ROW_AT]


def _rows(
    series: Sequence[Sequence[Mapping[str, Any]]], window_s: float
) -> list[Mapping[str, Any]]:
    """The rows of all parts: counts of the same interval add up, other figures are left out.

    The intervals count from the start of each part's own window. What came after the window is one
    row, because a part waits there for the others.
    """
    by_end: dict[float, dict[str, Any]] = {}
    for row in (row for rows in series for row in rows):
        late = row[ROW_AT] > window_s + ROW_SLACK_S
        counts = {n: v for n, v in row.items() if n != ROW_AT and isinstance(v, int)}
        merged = by_end.setdefault(math.inf if late else round(row[ROW_AT], 6), {})
        merged[ROW_AT] = min(merged.get(ROW_AT, math.inf), row[ROW_AT])
        for name, count in counts.items():
            merged[name] = merged.get(name, 0) + count
    return [by_end[end_s] for end_s in sorted(by_end)]


def _jain(specs: Sequence[LoadSpec], parts: Sequence[LoadResult]) -> float | None:
    """Jain's index (sum x)^2 / (n sum x^2) of all connections, from that of each part.

    The right answers of a part stand for its answers; with errors, which no valid trial has, the
    index is an approximation.
    """
    total, squares, connections = 0, 0.0, 0
    for spec, part in zip(specs, parts, strict=True):
        if not part.jain_fairness:
            return None
        total += part.requests_ok
        connections += spec.connections
        squares += part.requests_ok**2 / (spec.connections * part.jain_fairness)
    return total**2 / (connections * squares) if squares else None


def _little(specs: Sequence[LoadSpec], parts: Sequence[LoadResult]) -> float | None:
    """X R / N - 1 of all connections: its parts, each weighted by its connections."""
    errors = known(parts, "little_law_error")
    connections = sum(spec.connections for spec in specs)
    weighted = (error * spec.connections for error, spec in zip(errors, specs, strict=False))
    return sum(weighted) / connections if errors else None


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
        commands = [self._generator.command(share) for share in self._shares(spec)]
        if len(commands) == 1:
            return commands[0]
        return ["python3", "-c", SCRIPT, json.dumps(commands)]

    def parse(self, spec: LoadSpec, completed: Completed, version: str) -> LoadResult:
        shares = self._shares(spec)
        if len(shares) == 1:
            return self._generator.parse(spec, completed, version)
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
        longest_us = [us for part in parts if (us := part.service_us.get("max")) is not None]
        return replace(
            combined(parts, max(part.elapsed_s for part in parts)),
            service_us={"max": max(longest_us, default=None)},  # of the others nothing is known
            connections_served=add_up(parts, "connections_served"),
            connections_established=add_up(parts, "connections_established"),
        )

    def _shares(self, spec: LoadSpec) -> list[LoadSpec]:
        return shares(spec, math.ceil(spec.connections / self._each))


def _ended_processes(stdout: str) -> Iterator[tuple[int, Completed]]:
    """The number and output of each process that ended. Ignores an incomplete line."""
    for line in stdout.splitlines(keepends=True):
        if line.endswith("\n"):
            number, code, out, err = json.loads(line)
            yield number, Completed(code, out, err, 0.0, 0.0)
