"""Why one server needs more CPU time than another: gaps, signs, and each format of them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deadheat.errors import DeadheatError, StoreError
from deadheat.report.findings.explanation import frames_text, gaps, signs, slowed_text
from deadheat.report.formats.explained import explanation_points
from deadheat.report.picture import draw
from tests.report.made import MadeRun, histogram, made_run

COUNTED: Mapping[str, Any] = {
    "rate_per_s": 1000.0,
    "traced_rate_per_s": 100.0,
    "calls": {"read": 1.0, "write": 1.0, "epoll_wait": 0.25},
    "threads": [{"name": "worker-N", "threads": 2, "us_per_request": 12.5}],
    "allocated_bytes": 1330.4,
    "backlog": 4096,
    "left_out": ["a flame graph is left out: perf is missing"],
}


def explained(
    folder: Path,
    parts_us: Mapping[str, tuple[float, float]],
    *,
    invocations: int = 3,
    scatter_us: float = 1.0,
    counted: Mapping[str, Any] = COUNTED,
    per_request: Mapping[str, float] | None = None,
    **values: Any,
) -> MadeRun:
    """A run of servers with this user and system time, which scatters by instance."""
    run = made_run(folder / "runs.sqlite", cpus=2)
    for name, (user_us, system_us) in parts_us.items():
        run.contender(name, **values.get("contender", {}))
        for number in range(1, invocations + 1):
            instance = run.start(name, number, **values.get("start", {}))
            moved_us = scatter_us * (number - (invocations + 1) / 2)
            parts = {"user_us": user_us + moved_us, "system_us": system_us, **(per_request or {})}
            for block in (1, 2):
                run.trial(
                    name,
                    1000.0,
                    block=block,
                    invocation=number,
                    instance_id=instance,
                    server_cpu_us_per_request=parts["user_us"] + system_us,
                    result={"per_request": parts},
                    **values.get("trial", {}),
                )
        result = {"explained": counted}
        stacks = values.get("stacks", [["node;main;poll_[k]", 3], ["node;[unknown]", 1]])
        series = {"stacks": stacks}
        run.trial(name, 1000.0, kind="explain", result=result, series=series)
    run.end()
    return run


def test_a_gap_is_split_into_parts_that_add_up(tmp_path: Path) -> None:
    run = explained(tmp_path, {"slow": (40.06, 12.06), "fast": (20.0, 10.0)})
    (gap,) = gaps(run.view())
    assert (gap.more, gap.less) == ("slow", "fast")
    assert gap.user.value + gap.system.value == pytest.approx(gap.cpu.value)
    assert gap.text.startswith("slow needs 22.2 µs [")
    assert "20.1 [" in gap.text
    assert gap.text.endswith("2.1 [2.1 to 2.1] in the kernel"), "20.1 + 2.1 = 22.2"
    assert gap.user.low is not None
    assert gap.user.low < 20.06 < (gap.user.high or 0)


@pytest.mark.parametrize(
    ("slow_us", "values", "end"),
    [
        ((20.5, 14.0), {"scatter_us": 3.0}, "in the kernel; their own code may be equal"),
        ((40.0, 8.0), {}, "and 2.0 [2.0 to 2.0] less in the kernel"),
        ((40.0, 8.0), {"invocations": 1}, "and 2.0 [unknown] less in the kernel"),
    ],
)
def test_a_part_can_be_equal_less_or_unknown(
    tmp_path: Path, slow_us: tuple[float, float], values: Mapping[str, Any], end: str
) -> None:
    (gap,) = gaps(explained(tmp_path, {"slow": slow_us, "fast": (20.0, 10.0)}, **values).view())
    assert gap.text.endswith(end)


def test_pairs_of_neighbors_come_first(tmp_path: Path) -> None:
    run = explained(tmp_path, {"c": (30, 1), "a": (10, 1), "b": (20, 1)})
    pairs = [(gap.less, gap.more) for gap in gaps(run.view())]
    assert pairs == [("a", "b"), ("b", "c"), ("a", "c")]


BEHAVIOR = {"status": 200, "keep_alive": False}
OLD = {"language": "Ruby", "support": {"7.1": "2025-10-01"}}
IDLE = ["server;poll_[k]", 90]
ACCESS = '127.0.0.1 "GET / HTTP/1.1" 200\n' * 8


@pytest.mark.parametrize(
    ("code", "counted", "values"),
    [
        ("debug", {}, {"start": {"command": ["flask", "run", "--debug"]}}),
        ("debug", {}, {"start": {"log_tail": "[GIN-debug] [WARNING] Running in debug"}}),
        ("access_log", {}, {"start": {"log_tail": ACCESS}}),
        ("no_keep_alive", {}, {"start": {"behavior": BEHAVIOR}}),
        ("header_writes", {"calls": {"write": 7.0}}, {}),
        ("several_writes", {}, {"per_request": {"data_packets_in": 2.0, "bytes_in": 130.0}}),
        ("short_backlog", {"backlog": 5}, {}),
        ("accept_one", {"calls": {"accept4": 1.0, "poll": 1.0}}, {}),
        ("garbage_collector", {}, {"stacks": [["server;runtime.gcBgMarkWorker", 30], IDLE]}),
        ("garbage_collector", {}, {"stacks": [["GC Thread;start;copy", 30], IDLE]}),
        ("end_of_life", {}, {"contender": {"manifest": OLD, "version": "7.1.5"}}),
    ],
)
def test_a_known_mistake_has_a_sign_with_its_fix(
    tmp_path: Path, code: str, counted: Mapping[str, Any], values: Mapping[str, Any]
) -> None:
    run = explained(tmp_path, {"a": (20.0, 10.0)}, counted={**COUNTED, **counted}, **values)
    (sign,) = signs(run.view())
    assert sign.code == code
    assert sign.fix


def test_a_good_server_has_no_sign(tmp_path: Path) -> None:
    keeps = {"behavior": {**BEHAVIOR, "keep_alive": True}, "log_tail": "listening on 80\n"}
    young = {"manifest": OLD, "version": "7.2.1"}
    little = [["server;runtime.gcBgMarkWorker", 10], IDLE]
    run = explained(tmp_path, {"a": (20.0, 10.0)}, start=keeps, contender=young, stacks=little)
    assert signs(run.view()) == ()


def test_waiting_for_a_delayed_acknowledgment_has_a_sign(tmp_path: Path) -> None:
    run = explained(
        tmp_path,
        {"a": (20.0, 10.0)},
        per_request={"data_packets_in": 2.0, "bytes_in": 130.0},
        trial={"histograms": {"service_us": histogram(6000, 40_000)}},
    )
    codes = [sign.code for sign in signs(run.view())]
    assert codes == ["several_writes", "delayed_ack"]


def test_bug_shares_that_look_alike_were_a_range(tmp_path: Path) -> None:
    """Printed: `they answered 10 % to 10 % of their rate`."""
    view = explained(tmp_path, {"a": (20.0, 10.0)}).view()
    (a,) = view.contenders
    assert a.explained is not None
    b = replace(a, explained=replace(a.explained, traced_rate_per_s=101.0))
    assert "they answered 10 % of their rate" in (
        slowed_text(replace(view, contenders=(a, b))) or ""
    )


def test_functions_on_top_and_what_has_no_name_are_said(tmp_path: Path) -> None:
    run = explained(tmp_path, {"a": (20.0, 10.0)})
    view = run.view()
    assert frames_text(view.contenders[0]) == "poll_[k] 75.0 %, without a name 25.0 %"
    (left_out,) = [each for each in explanation_points(view) if each.topic == "LEFT OUT"]
    assert left_out.text == "a flame graph is left out: perf is missing"


def test_a_flame_graph_needs_inferno_and_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = explained(tmp_path, {"a": (20.0, 10.0)})
    monkeypatch.setattr("deadheat.report.picture.curves.INFERNO", "no-such-inferno")
    with pytest.raises(DeadheatError, match="no-such-inferno is missing") as caught:
        draw(run.view(), "flame", ("a",))
    assert caught.value.hint == "cargo install inferno"
    with pytest.raises(DeadheatError, match="this needs stacks of this contender"):
        draw(run.view(), "flame", ("b",))


def test_a_flame_graph_says_what_its_width_and_its_colors_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for inferno prints its options and its input."""
    run = explained(tmp_path, {"a": (20.0, 10.0)})
    inferno = tmp_path / "inferno"
    inferno.write_text('#!/bin/sh\nfor word; do echo "$word"; done; cat "$word"\n')
    inferno.chmod(0o755)
    monkeypatch.setattr("deadheat.report.picture.curves.INFERNO", str(inferno))
    drawn = draw(run.view(), "flame").splitlines()
    assert f"--title=a: where its CPU time goes under load, run {run.run_id}" in drawn
    legend = "width: share of 4 samples; orange: the kernel; without a name: 25.0 %"
    assert f"--subtitle={legend}" in drawn
    assert drawn[-2:] == ["node;[unknown] 1", "node;main;poll_[k] 3"]


def test_what_no_run_wrote_names_the_trial(tmp_path: Path) -> None:
    run = explained(tmp_path, {"a": (20.0, 10.0)}, counted={"calls": "many"})
    with pytest.raises(StoreError, match="result of trial"):
        run.view()
