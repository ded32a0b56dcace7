"""The windows of a warm-up, and where the compiler of a runtime runs meanwhile."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deadheat.host import HostError
from deadheat.host.fake import FakeServer
from deadheat.load import LoadResult
from deadheat.measure.warm_up import warm, windows_of
from deadheat.stats.warmup.warm_rule import Compiler
from tests.campaign.fake_world import FakeWorld, greet, name_of
from tests.campaign.made_protocols import sliced
from tests.measure.made_evidence import evidence

WARM_UP_CHUNK_S = 0.2
UNTIL_STEADY = {"kind": "steady", "limit_s": 3}
ALL_CPUS, SERVER_CPUS = None, (0,)


def load_of(rows: list[tuple[float, int]], elapsed_s: float) -> LoadResult:
    """A load whose rows (end, right answers) include one for the drain, after `elapsed_s`."""
    series: list[Mapping[str, Any]] = [{"at_s": at_s, "ok": ok} for at_s, ok in rows]
    return evidence(
        {"series": series, "elapsed_s": elapsed_s, "requests_ok": sum(ok for _, ok in rows)}
    ).result


def test_bug_first_window_of_a_slow_server_was_low() -> None:
    """Flask, 4000/s on 100 connections: its first answers to the measured part come after 25 ms.

    Each chunk of its warm-up began with a window at half the rate, so it took several times as long
    to exclude a drift.
    """
    late = [(0.01, 0), (0.02, 0), (0.03, 20)]
    rows = [*late, *((0.01 * number, 40) for number in range(4, 21)), (0.225, 100)]
    counts, seconds = windows_of(load_of(rows, 0.2), 0.05)
    assert counts == pytest.approx([200] * 4)
    assert seconds == pytest.approx([0.05] * 4)


def test_long_drain_fills_several_windows() -> None:
    rows = [(0.05, 0), (0.10, 0), (0.15, 100), (0.20, 100), (0.30, 200)]
    counts, _ = windows_of(load_of(rows, 0.2), 0.05)
    assert counts == pytest.approx([100] * 4)


def test_nothing_to_drain_changes_nothing() -> None:
    counts, seconds = windows_of(load_of([(0.05, 10), (0.10, 20), (0.12, 4)], 0.12), 0.05)
    assert counts == pytest.approx([10, 24])
    assert seconds == pytest.approx([0.05, 0.07])


def test_server_that_never_answers_has_empty_windows() -> None:
    counts, _ = windows_of(load_of([(0.05, 0), (0.10, 0), (5.1, 0)], 0.1), 0.05)
    assert counts == [0, 0]


def test_bug_a_handler_that_waits_400_ms_never_became_steady() -> None:
    """100 connections in step: a burst of answers each 400 ms, and empty windows between them."""
    bursts_s = (0.4, 0.8, 1.2)  # the last one in the drain
    ends_s = [*(round(0.01 * number, 2) for number in range(1, 101)), 1.2]
    series = [
        {"at_s": end_s, "ok": 100, "service_us_mean": 400_000.0}
        if end_s in bursts_s
        else {"at_s": end_s, "ok": 0, "service_us_mean": None}
        for end_s in ends_s
    ]
    load = {"series": series, "elapsed_s": 1.0, "requests_ok": 300}
    counts, seconds = windows_of(evidence(load).result, 0.05)
    rates = [count / length for count, length in zip(counts, seconds, strict=True)]
    assert rates == pytest.approx([250] * len(rates))


def test_bug_the_warm_up_of_a_slow_queue_had_a_tenth_of_its_rate() -> None:
    """One worker that sleeps 10 ms in each request, with 100 connections: each answer takes 1 s.

    The 100 requests that were in its queue before the measured part do not count. So no window of
    0.2 s had an answer that did, and the drain had them all.
    """
    ends_s = [round(0.01 * number, 2) for number in range(1, 501)]
    series = [
        {"at_s": end_s, "ok": int(end_s > 1), "service_us_mean": 1e6 if end_s > 1 else None}
        for end_s in ends_s
    ]
    load = {"series": series, "elapsed_s": 4.0, "requests_ok": 400}
    counts, seconds = windows_of(evidence(load).result, 0.05)
    rates = [count / length for count, length in zip(counts, seconds, strict=True)]
    assert rates == pytest.approx([100] * 60, rel=0.02)


def test_a_warm_up_ends_where_each_request_takes_longer_than_a_load() -> None:
    loads_s: list[float] = []

    def load(for_s: float) -> LoadResult:
        loads_s.append(for_s)
        row = {"at_s": for_s, "ok": 10, "service_us_mean": 2e6 * for_s}
        return evidence({"series": [row], "elapsed_s": for_s, "requests_ok": 10}).result

    contender = SimpleNamespace(compiler=Compiler.NONE)
    instance: Any = SimpleNamespace(process=None, contender=contender)
    world: Any = None
    warmed = warm(world, instance, sliced(warmup=UNTIL_STEADY), load=load)
    assert (warmed.kind, warmed.windows_per_s) == ("none", ())
    assert (warmed.trouble or "").startswith("not steady within 7 s: a request takes 6 s")
    assert loads_s == [0.6, 3.0, 3.0]


def test_compiler_may_use_other_cpus_only_during_warm_up(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, jvm=3000, native=2900)
    fake.servers["jvm"] = FakeServer(answer=greet, compiler_busy=0.01)
    placed: set[tuple[str, bool, Any]] = set()

    def note(name: str, request: dict[str, Any]) -> None:
        (loaded,) = [
            process
            for process in fake.host.processes.values()
            if process.exited is None and not process.frozen and name_of(process.spec) == name
        ]
        is_warm_up = request["duration_s"] >= WARM_UP_CHUNK_S
        placed.add((name, is_warm_up, loaded.compiler_cpus))

    fake.before_slice = note
    fake.conduct(sliced(controls=False, warmup=UNTIL_STEADY))
    assert placed == {
        ("jvm", True, ALL_CPUS),
        ("jvm", False, SERVER_CPUS),
        ("native", True, ()),
        ("native", False, ()),
    }


def test_compiler_goes_back_also_if_the_load_fails(tmp_path: Path) -> None:
    fake = FakeWorld(tmp_path, jvm=3000, native=2900)
    fake.servers["jvm"] = FakeServer(answer=greet, compiler_busy=0.01)

    def fail(name: str, _: dict[str, Any]) -> None:
        if name == "jvm":
            raise HostError("the load process ended")

    fake.before_slice = fail
    fake.conduct(sliced(controls=False, warmup=UNTIL_STEADY))
    jvms = [p for p in fake.host.processes.values() if name_of(p.spec) == "jvm"]
    assert {process.compiler_cpus for process in jvms} == {SERVER_CPUS}


def test_looks_seldom_until_the_instance_can_be_warm(tmp_path: Path) -> None:
    """A JVM is not warm before 100,000 requests, which take two seconds here."""
    fake = FakeWorld(tmp_path, jvm=50_000, native=2900)
    fake.servers["jvm"] = FakeServer(answer=greet, compiler_busy=0.01)
    chunks_s: list[float] = []

    def note(name: str, request: dict[str, Any]) -> None:
        if name == "jvm" and request["duration_s"] >= WARM_UP_CHUNK_S:
            chunks_s.append(request["duration_s"])

    fake.before_slice = note
    fake.conduct(sliced(controls=False, warmup=UNTIL_STEADY))
    assert chunks_s[:4] == [0.6, 0.6, 0.6, pytest.approx(0.2, abs=0.05)]
