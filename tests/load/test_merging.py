"""Parts of one load, on several hosts at the same time: merging them equals the whole."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from deadheat.load import LoadResult, LoadSpec
from deadheat.load.base import shares
from deadheat.load.pooling import merge_parts, pool
from deadheat.stats.histogram import DIGITS, HIGHEST_US, LOWEST_US

WINDOW_S = 0.08
ROW_S = 0.01
SPEC = LoadSpec("http://server/", connections=7, duration_s=WINDOW_S)


@dataclass(frozen=True)
class Request:
    """One request: its connection, its class, its service time and when it ended."""

    connection: int
    kind: str
    service_us: int
    row: int


def requests(kinds: Sequence[str]) -> st.SearchStrategy[list[Request]]:
    request = st.builds(
        Request,
        connection=st.integers(0, SPEC.connections - 1),
        kind=st.sampled_from(kinds),
        service_us=st.integers(LOWEST_US, 10_000_000),
        row=st.integers(1, 8),
    )
    return st.lists(request, max_size=60)


def measured(requests: Sequence[Request], spec: LoadSpec) -> LoadResult:
    """What an engine with these connections says of these requests."""
    histogram = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    ended = Counter(request.kind for request in requests)
    answers = Counter(request.connection for request in requests)
    for request in requests:
        histogram.record_value(request.service_us)
    squares = sum(count**2 for count in answers.values())
    busy_s = sum(request.service_us for request in requests) / 1e6
    rows = Counter(request.row for request in requests if request.kind == "ok")
    return LoadResult(
        generator="engine",
        version="1",
        rate_per_s=ended["ok"] / WINDOW_S,
        requests_ok=ended["ok"],
        elapsed_s=WINDOW_S,
        errors={kind: count for kind, count in ended.items() if kind != "ok"},
        service_us={},
        histograms={"service_us": histogram.encode().decode()} if requests else {},
        series=[{"at_s": ROW_S * row, "ok": rows[row]} for row in range(1, 9)],
        requests_sent_in_all=len(requests),
        connections_established=spec.connections,
        connections_served=len(answers),
        jain_fairness=len(requests) ** 2 / (spec.connections * squares) if squares else None,
        busiest_thread_share=0.5,
        run_wait_share=0.0,
        little_law_error=busy_s / WINDOW_S / spec.connections - 1,
        client_cpu_s=0.04,
        bytes_in=100 * len(requests),
        retransmits=ended["timeout_body"],
    )


def split(requests: Sequence[Request], specs: Sequence[LoadSpec]) -> list[list[Request]]:
    """The first connections are the first host's, and so on."""
    parts, first = [], 0
    for spec in specs:
        last = first + spec.connections
        parts.append([each for each in requests if first <= each.connection < last])
        first = last
    return parts


@settings(max_examples=60, deadline=None)
@given(requests(("ok", "status", "timeout_body")), st.integers(1, 9))
def test_merging_the_parts_equals_the_whole(sent: list[Request], hosts: int) -> None:
    specs = shares(SPEC, hosts)
    parts = [measured(part, spec) for part, spec in zip(split(sent, specs), specs, strict=True)]
    merged, whole = merge_parts(specs, parts, 50.0), pool([measured(sent, SPEC)])
    for name in (
        *("rate_per_s", "requests_ok", "elapsed_s", "errors", "histograms", "service_us"),
        *("requests_sent_in_all", "connections_established", "connections_served"),
        *("bytes_in", "retransmits"),
    ):
        assert getattr(merged, name) == getattr(whole, name), name
    assert merged.little_law_error == pytest.approx(whole.little_law_error)
    assert [(round(row["at_s"], 6), row["ok"]) for row in merged.series] == [
        (round(row["at_s"], 6), row["ok"]) for row in whole.series
    ]
    assert merged.skew_us == 50.0


@settings(max_examples=60, deadline=None)
@given(requests(("ok",)), st.integers(1, 4))
def test_fairness_of_the_parts_is_that_of_the_whole(sent: list[Request], hosts: int) -> None:
    specs = shares(SPEC, hosts)
    parts = [measured(part, spec) for part, spec in zip(split(sent, specs), specs, strict=True)]
    merged = merge_parts(specs, parts, 0.0)
    if all(part.requests_ok for part in parts):
        assert merged.jain_fairness == pytest.approx(measured(sent, SPEC).jain_fairness)
    else:
        assert merged.jain_fairness is None


def test_the_worst_host_decides_whether_the_client_was_the_limit() -> None:
    specs = shares(SPEC, 2)
    calm, busy = (measured([], spec) for spec in specs)
    limit = {"code": "client_resources", "reading": 0}
    calm = replace(calm, limits=[limit])
    busy = replace(
        busy, busiest_thread_share=0.97, run_wait_share=0.2, limits=[{**limit, "reading": 3}]
    )
    merged = merge_parts(specs, [calm, busy], 0.0)
    assert (merged.busiest_thread_share, merged.run_wait_share) == (0.97, 0.2)
    assert [limit["reading"] for limit in merged.limits] == [3]


def test_what_a_part_did_while_it_waited_is_one_row_after_the_window() -> None:
    specs = shares(SPEC, 2)
    early, late = (measured([], spec) for spec in specs)
    after = [{"at_s": WINDOW_S + ROW_S * n, "ok": n} for n in (1, 2, 3)]
    merged = merge_parts(specs, [early, replace(late, series=[*late.series, *after])], 0.0)
    assert merged.series[-1] == {"at_s": WINDOW_S + ROW_S, "ok": 6}
    assert len(merged.series) == 9


def test_shares_are_equal_and_none_is_empty() -> None:
    parts = shares(replace(SPEC, rate_per_s=900.0), 3)
    assert [part.connections for part in parts] == [3, 2, 2]
    assert [part.rate_per_s for part in parts] == [300.0] * 3
    assert len({part.seed for part in parts}) == 3  # each draws arrivals of its own
    assert [part.connections for part in shares(replace(SPEC, connections=2), 5)] == [1, 1]
