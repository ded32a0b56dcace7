"""TechEmpower's `results.json`: raw figures of each test, one for each level.

The format is that of the repository's `toolset`, whose wiki describes it: `rawData` has for each
test and framework a list in the order of `concurrencyLevels`, `pipelineConcurrencyLevels` or of the
numbers of queries.
"""

import datetime
from collections.abc import Iterator
from typing import Any

from deadheat.boards.adapters.values import Value
from deadheat.boards.model import Measurement

BOARD = "techempower"
PIPELINED, DEPTH = "plaintext", 16
QUERIES = {
    "query": "queryIntervals",
    "update": "queryIntervals",
    "cached-query": "cachedQueryIntervals",
}
MS_MAX = 4e12  # in the year 2096; a later start is none
ERRORS = ("connect", "read", "write", "timeout")


def reads(content: Any) -> bool:
    """Whether a JSON value is a file of this board."""
    return isinstance(content, dict) and {"rawData", "concurrencyLevels"} <= content.keys()


def edition_of(content: Value) -> str | None:
    """The day on which the run began; its name without one."""
    start_ms = content.key("startTime").number_if_any()
    if start_ms and start_ms < MS_MAX:
        began = datetime.datetime.fromtimestamp(start_ms / 1000, datetime.UTC)
        return f"{began:%Y-%m-%dT%H:%M}"
    return content.key("name").name_if_any()


def read(content: Value, edition: str) -> Iterator[Measurement]:
    duration_s = content.key("duration").number()
    if not duration_s:
        raise content.key("duration").unlike("a duration above zero")
    for test, frameworks in content.key("rawData").entries():
        if not isinstance(frameworks.content, dict):
            continue  # `commitCounts` and `slocCounts` are of numbers
        levels = _levels(content, test)
        for entry, figures in frameworks.entries():
            if not isinstance(figures.content, list):
                continue
            for (label, connections), row in zip(levels, figures.items(), strict=False):
                if (measured := _row(row, duration_s)) is None:
                    continue
                requests, failed, errors = measured
                unreadable: list[str] = []
                yield Measurement(
                    profile=f"{test}, {label}",
                    family=test,
                    entry=entry,
                    edition=edition,
                    rate_per_s=max(requests - failed, 0) / duration_s,
                    connections=connections,
                    mean_s=row.key("latencyAvg").latency_if_any(unreadable),
                    duration_s=duration_s,
                    requests=requests,
                    ok=max(requests - failed, 0),
                    failed=failed,
                    errors=errors,
                    depth=DEPTH if test == PIPELINED else 1,
                    unreadable=tuple(unreadable),
                )


def _row(row: Value, duration_s: float) -> tuple[int, int, int] | None:
    """Requests, those answered with 5xx, and those without an answer; None without requests."""
    requests = row.key("totalRequests").count_if_any()
    if requests is None:
        return None
    errors = sum(row.key(kind).count_if_any() or 0 for kind in ERRORS)
    return requests, row.key("5xx").count_if_any() or 0, errors


def _levels(content: Value, test: str) -> list[tuple[str, int]]:
    """The label and the connections of each place in a test's lists."""
    connections = [int(level.number()) for level in content.key("concurrencyLevels").items()]
    if test in QUERIES and content.key(QUERIES[test]).content is not None:
        queries = [int(level.number()) for level in content.key(QUERIES[test]).items()]
        return [(f"{count} queries", max(connections)) for count in queries]
    piped = content.key("pipelineConcurrencyLevels")
    if test == PIPELINED and piped.content is not None:
        connections = [int(level.number()) for level in piped.items()]
    return [(f"{count} connections", count) for count in connections]
